/** Following the reply, up to the point where its question would leave the screen. */

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const main = document.getElementById("main");

export class Scrolling {
  #element = null;

  constructor() {
    // A person who scrolls wants to read something else than the latest word.
    for (const gesture of ["wheel", "touchmove"]) {
      addEventListener(gesture, () => this.leave(), { passive: true });
    }
    addEventListener("keydown", (event) => {
      if (/^(Page|Home|End)/.test(event.key)) this.leave();
      else if (event.key.startsWith("Arrow") && !/^(textarea|input)$/.test(event.target.localName)) this.leave();
    });
  }

  begin(element) {
    this.#element = element;
    this.follow(calm.matches ? "instant" : "smooth");
  }

  follow(behavior = "instant") {
    if (!this.#element) return;
    const lowest = document.documentElement.scrollHeight - innerHeight;
    const top = this.#element.getBoundingClientRect().top + scrollY - main.offsetTop - 12;
    scrollTo({ top: Math.min(lowest, top), behavior });
  }

  leave() {
    this.#element = null;
  }

  toEnd() {
    this.leave();
    scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  }
}
