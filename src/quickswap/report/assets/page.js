"use strict";
// Marks tables wider than the window; opens all parts for printing.
(() => {
  const look = (box) => box.parentElement.classList.toggle("over", box.scrollWidth > box.clientWidth + 1);
  const watch = new ResizeObserver((all) => { for (const each of all) look(each.target); });
  for (const box of document.querySelectorAll(".scroll")) watch.observe(box);
  addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details")) each.open = true;
  });
})();
