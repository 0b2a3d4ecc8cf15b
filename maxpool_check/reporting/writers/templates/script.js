"use strict";
// Filters that live in the address, next and previous by keyboard, copy buttons. Without it the page is whole and readable.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const form = document.getElementById("filters");
  const findings = all(".finding");
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

  const rowCase = (row) => row.cells[0].firstElementChild.textContent;
  // The ids of the cases that a paragraph lists behind the name of their file.
  const ids = (paragraph) => {
    const file = paragraph.querySelector("b").textContent;
    return paragraph.textContent.slice(file.length + 2).trim().split(", ").map((name) => `${file}:${name}`);
  };
  const cases = new Set([...all("table.rows tbody tr").map(rowCase), ...all("details.cases .names").flatMap(ids)]);
  const searched = new Map(findings.map((finding) => [finding, [...finding.children]
    .filter((each) => !each.matches(".rules, .command")).map((each) => each.textContent).join(" ").toLowerCase()]));
  const state = () => Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
  // A case is named in full, or by a part of its name.
  const caseMatches = (name, wanted) =>
    !wanted.case || (cases.has(wanted.case) ? name === wanted.case : name.includes(wanted.case));
  const rowMatches = (row, wanted) => caseMatches(rowCase(row), wanted)
    && (!wanted.document || row.cells[2].textContent === wanted.document)
    && (!wanted.dtype || row.cells[3].textContent === wanted.dtype)
    && (!wanted.clause || (row.dataset.clauses || "").split(" ").includes(wanted.clause));

  function fits(finding, wanted) {
    const data = finding.dataset;
    return Object.entries(wanted).every(([name, value]) =>
      ["case", "document", "dtype", "clause"].includes(name)
      || (name === "text" && searched.get(finding).includes(value.toLowerCase()))
      || (name === "kind" && data.kinds.split(" ").includes(value))
      || data[name] === value);
  }

  // The cases of a finding that the filters leave.
  function filtered(finding, wanted) {
    const fitting = fits(finding, wanted);
    const names = all("details.cases .names", finding).flatMap(ids).filter((name) => fitting && caseMatches(name, wanted));
    for (const row of all("table.rows tbody tr", finding)) {
      row.hidden = !(fitting && rowMatches(row, wanted));
      row.classList.toggle("current", Boolean(wanted.case) && !row.hidden);
      if (!row.hidden) names.push(rowCase(row));
    }
    return fitting ? names : null;
  }

  function apply() {
    const wanted = state();
    const perCase = wanted.case || wanted.document || wanted.dtype || wanted.clause;
    const shown = new Set();
    for (const finding of findings) {
      const names = filtered(finding, wanted);
      finding.hidden = !names || (Boolean(perCase) && !names.length);
      if (finding.hidden) continue;
      names.forEach((name) => shown.add(name));
      if (perCase) finding.querySelector("details.cases").open = true;
      finding.querySelector(".filtered-count").textContent = perCase ? `; of these ${new Set(names).size} shown` : "";
      const note = finding.querySelector(".example-note");
      if (note) note.hidden = !perCase || names.includes(finding.dataset.example);
    }
    for (const link of all("table.overview tbody a")) {
      link.closest("tr").hidden = Boolean(document.getElementById(decodeURIComponent(link.hash.slice(1)))?.hidden);
    }
    tell(wanted, shown.size, findings.filter((each) => !each.hidden).length, wanted.case ? markPassing(wanted.case) : "");
  }

  function tell(wanted, count, number, passing) {
    const filters = Object.entries(wanted).map(([name, value]) => `${name} ${value}`).join(", ");
    const text = filters
      ? `Filtered by ${filters}: ${count} of ${cases.size} cases in ${number} of ${findings.length} ${form.dataset.noun}.${passing}`
        + (number || passing ? "" : " Nothing on this page matches.")
      : `${cases.size} cases in ${findings.length} ${form.dataset.noun}.`;
    const notice = document.getElementById("filtered");
    document.getElementById("count").textContent = text;
    notice.querySelector("span").textContent = text;
    notice.hidden = !filters;
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
    const words = location.hash.slice(1);
    if (!words.includes("=")) return;
    const given = new URLSearchParams(words);
    for (const field of form.elements) {
      if (!field.name) continue;
      const value = given.get(field.name) || "";
      field.value = value;
      // A value of another record: nothing here has it.
      if (field.value !== value) { field.add(new Option(value)); field.value = value; }
    }
    apply();
    const place = document.getElementById(given.get("at")) || findings.find((each) => !each.hidden);
    arrive(place);
    if (given.get("case")) document.querySelector("tr.current:not([hidden])")?.scrollIntoView({ block: "center" });
  }

  function toAddress(more = {}) {
    const filters = state();
    const hash = more.at && !Object.keys(filters).length ? more.at : new URLSearchParams({ ...filters, ...more }).toString();
    history.replaceState(null, "", hash ? `#${hash}` : `${location.pathname}${location.search}`);
    apply();
  }

  function arrive(place) {
    for (const each of findings) each.classList.toggle("current", each === place);
    current = findings.includes(place) ? findings.indexOf(place) : current;
    place?.focus({ preventScroll: true });
    place?.scrollIntoView({ block: "start" });
  }

  function go(place) {
    toAddress({ at: place.id });
    arrive(place);
  }

  function move(step) {
    for (let next = current + step; next >= 0 && next < findings.length; next += step) {
      if (!findings[next].hidden) return go(findings[next]);
    }
  }

  // Links to filters add to those that are set, and links to places keep them.
  function follow(event) {
    const link = event.target.closest("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const words = link.hash.slice(1);
    const place = document.getElementById(decodeURIComponent(words));
    if (!place && !words.includes("=")) return;
    event.preventDefault();
    if (place) go(place);
    else location.hash = new URLSearchParams({ ...state(), ...Object.fromEntries(new URLSearchParams(words)) }).toString();
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
    else if (event.key === "/") { event.preventDefault(); form.elements.text.focus(); }
  });
  apply();
  fromAddress();
})();
