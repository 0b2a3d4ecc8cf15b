"use strict";
// Finds the pages whose names hold every word of the query. search-index.js has them: [name, sort, address, title].
(() => {
  const most = 200;
  const field = document.getElementById("query");
  field.value = new URLSearchParams(location.search).get("q") || "";
  function find() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length
      ? SEARCH_INDEX.filter(([name, , , title]) => words.every((word) => `${name} ${title}`.toLowerCase().includes(word)))
      : [];
    const list = document.getElementById("results");
    list.replaceChildren(...found.slice(0, most).map(([name, sort, address, title]) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = address;
      link.textContent = name;
      item.append(`${sort} `, link, title && title !== name ? ` ${title}` : "");
      return item;
    }));
    document.getElementById("found").textContent = words.length
      ? `${found.length} found${found.length > most ? `; the first ${most}` : ""}.`
      : "";
  }
  field.addEventListener("input", find);
  find();
})();
