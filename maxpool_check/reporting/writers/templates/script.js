"use strict";
// A search that lives in the address, next and previous by keyboard, copy buttons. Without it the page is whole and readable.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const form = document.getElementById("filters");
  const cards = all(".card");
  let current = -1;

  for (const button of all(".copy")) {
    const text = button.parentElement.querySelector("pre");
    button.hidden = false;
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(text.textContent); } catch { return getSelection().selectAllChildren(text); }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
  if (!form) return;

  // The ids of the cases that a paragraph lists behind the name of their file.
  const ids = (paragraph) => {
    const file = paragraph.querySelector("b").textContent;
    return paragraph.textContent.slice(file.length + 2).trim().split(", ").map((name) => `${file}:${name}`);
  };
  const text = (each) => [each.textContent, ...Object.values(each.dataset)].join(" ").toLowerCase();
  const searched = new Map(cards.map((card) => [card, [card, ...card.children, ...all("tr", card)]
    .map((each) => each === card ? Object.values(each.dataset).join(" ").toLowerCase()
      : each.matches(".rules, .command") ? "" : text(each)).join(" ")]));
  const field = form.elements.search;
  const words = () => field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (there, wanted) => wanted.every((word) => there.includes(word));

  // Of a card that fits, the rows of cases that fit by themselves, or all of them if none does.
  function filterRows(card, wanted) {
    const rows = all("table.rows tbody tr", card);
    const fitting = rows.filter((row) => fits(text(row), wanted));
    for (const row of rows) {
      row.hidden = fitting.length > 0 && !fitting.includes(row);
      row.classList.toggle("current", wanted.length > 0 && !row.hidden && fitting.length === 1);
    }
    const isPart = wanted.length > 0 && fitting.length > 0 && fitting.length < rows.length;
    if (isPart) card.querySelector("details.cases").open = true;
    card.querySelector(".filtered-count").textContent = isPart ? `; of these ${fitting.length} shown` : "";
  }

  function apply() {
    const wanted = words();
    for (const card of cards) {
      card.hidden = !fits(searched.get(card), wanted);
      if (!card.hidden) filterRows(card, wanted);
    }
    const isHidden = (link) => Boolean(document.getElementById(decodeURIComponent(link.hash.slice(1)))?.hidden);
    for (const row of all("table.overview tbody tr")) {
      const links = all("a", row);
      row.hidden = links.length > 0 && links.every(isHidden);
    }
    const number = cards.filter((each) => !each.hidden).length, passing = wanted.length ? markPassing(field.value.trim()) : "";
    const told = wanted.length
      ? `${number} of ${cards.length} ${form.dataset.noun} with ${field.value.trim()}.${passing}`
      : `${cards.length} ${form.dataset.noun}.`;
    const notice = document.getElementById("filtered");
    document.getElementById("count").textContent = told;
    notice.querySelector("span").textContent = told;
    notice.hidden = !wanted.length;
  }

  function markPassing(name) {
    for (const each of all(".names")) {
      const listed = ids(each).includes(name);
      each.classList.toggle("current", listed);
      if (!listed) continue;
      const box = each.closest("details");
      box.open = true;
      each.scrollIntoView({ block: "start" });
      return ` ${name} is listed under: ${box.querySelector("summary").textContent}`;
    }
    return "";
  }

  function fromAddress() {
    const given = location.hash.slice(1);
    if (!given.includes("=")) return;
    const values = new URLSearchParams(given);
    field.value = values.get("search") || "";
    apply();
    arrive(document.getElementById(values.get("at")) || cards.find((each) => !each.hidden));
    document.querySelector("tr.current:not([hidden])")?.scrollIntoView({ block: "center" });
  }

  function toAddress(more = {}) {
    const own = field.value.trim() ? { search: field.value.trim() } : {};
    const hash = more.at && !own.search ? more.at : new URLSearchParams({ ...own, ...more }).toString();
    history.replaceState(null, "", hash ? `#${hash}` : `${location.pathname}${location.search}`);
    apply();
  }

  function arrive(place) {
    for (const each of cards) each.classList.toggle("current", each === place);
    current = cards.includes(place) ? cards.indexOf(place) : current;
    place?.focus({ preventScroll: true });
    place?.scrollIntoView({ block: "start" });
  }

  function go(place) {
    toAddress({ at: place.id });
    arrive(place);
  }

  function move(step) {
    for (let next = current + step; next >= 0 && next < cards.length; next += step) {
      if (!cards[next].hidden) return go(cards[next]);
    }
  }

  // Links to places keep the search.
  function follow(event) {
    const link = event.target.closest("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const place = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (!place) return;
    event.preventDefault();
    go(place);
  }

  form.hidden = false;
  form.addEventListener("input", () => toAddress());
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => toAddress()));
  window.addEventListener("hashchange", fromAddress);
  document.addEventListener("click", follow);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") event.target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "n") move(1);
    else if (event.key === "p") move(-1);
    else if (event.key === "/") { event.preventDefault(); field.focus(); }
  });
  apply();
  fromAddress();
})();
