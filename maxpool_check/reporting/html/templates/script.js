"use strict";
// Filters that live in the address, next and previous by keyboard, copy buttons. Without it the page is whole and readable.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const form = document.getElementById("filters");
  const findings = all(".finding");
  const total = all("table.rows tbody tr").length + all("details.cases .names").flatMap(ids).length;
  let current = -1;

  for (const button of all(".copy")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }

  async function copy(button) {
    const text = button.parentElement.querySelector("pre").textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  function state() {
    return Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
  }

  function rowMatches(row, wanted) {
    const cells = row.cells;
    return (!wanted.case || cells[0].firstElementChild.textContent === wanted.case)
      && (!wanted.document || cells[2].textContent === wanted.document)
      && (!wanted.dtype || cells[3].textContent === wanted.dtype)
      && (!wanted.clause || (row.dataset.clauses || "").split(" ").includes(wanted.clause));
  }

  function apply() {
    const wanted = state();
    const text = (wanted.text || "").toLowerCase();
    const perRow = wanted.case || wanted.document || wanted.dtype || wanted.clause;
    let shown = 0;
    let shownFindings = 0;
    for (const finding of findings) {
      const data = finding.dataset;
      const fits = Object.entries(wanted).every(([name, value]) =>
        ["case", "document", "dtype", "clause"].includes(name)
        || (name === "text" && finding.textContent.toLowerCase().includes(text))
        || (name === "kind" && data.kinds.split(" ").includes(value))
        || data[name] === value);
      let rows = 0;
      for (const row of all("table.rows tbody tr", finding)) {
        row.hidden = !(fits && rowMatches(row, wanted));
        row.classList.toggle("current", Boolean(wanted.case) && !row.hidden);
        rows += !row.hidden;
      }
      const names = all("details.cases .names", finding).flatMap(ids);
      rows += names.filter((name) => fits && (!wanted.case || name === wanted.case)).length;
      finding.hidden = !fits || (Boolean(perRow) && rows === 0);
      const list = finding.querySelector("details.cases");
      if (perRow && !finding.hidden) list.open = true;
      shown += finding.hidden ? 0 : rows;
      shownFindings += !finding.hidden;
    }
    const passing = wanted.case ? markPassing(wanted.case) : "";
    for (const link of all("table.overview tbody a")) {
      const finding = document.getElementById(decodeURIComponent(link.hash.slice(1)));
      link.closest("tr").hidden = Boolean(finding && finding.hidden);
    }
    const filtered = Object.keys(wanted).length > 0;
    document.getElementById("count").textContent = filtered
      ? `${shown} of ${total} cases in ${shownFindings} of ${findings.length} ${form.dataset.noun}.${passing}`
      : `${total} cases in ${findings.length} ${form.dataset.noun}.`;
  }

  // The ids of the cases that a paragraph lists behind the name of their file.
  function ids(paragraph) {
    const file = paragraph.querySelector("b").textContent;
    return paragraph.textContent.slice(file.length + 2).trim().split(", ").map((name) => `${file}:${name}`);
  }

  function markPassing(name) {
    for (const each of all(".names")) {
      const listed = ids(each).includes(name);
      each.classList.toggle("current", listed);
      if (!listed) continue;
      const box = each.closest("details");
      box.open = true;
      box.scrollIntoView({ block: "start" });
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
    const first = findings.find((finding) => !finding.hidden);
    if (first && [...given.keys()].length) focus(first);
  }

  function focus(finding) {
    for (const each of findings) each.classList.toggle("current", each === finding);
    current = findings.indexOf(finding);
    finding.focus({ preventScroll: true });
    finding.scrollIntoView({ block: "start" });
  }

  function move(step) {
    for (let next = current + step; next >= 0 && next < findings.length; next += step) {
      if (!findings[next].hidden) return focus(findings[next]);
    }
  }

  function toAddress() {
    const words = new URLSearchParams(state()).toString();
    history.replaceState(null, "", words ? `#${words}` : `${location.pathname}${location.search}`);
    apply();
  }

  if (form) {
    form.hidden = false;
    form.addEventListener("input", toAddress);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(toAddress));
    window.addEventListener("hashchange", fromAddress);
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      if (event.key === "n") move(1);
      else if (event.key === "p") move(-1);
      else if (event.key === "/") { event.preventDefault(); form.elements.text.focus(); }
    });
    apply();
    fromAddress();
  }
})();
