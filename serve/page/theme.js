// A classic script in the head: a chosen theme must be known before the first paint.
try {
  const chosen = localStorage.getItem("manta.theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be switched off; the page then follows the system.
}
