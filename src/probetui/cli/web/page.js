"use strict";
// The emulator connects and draws; this says what it does not: that it cannot, or that
// the screen is over.

function say(text, canOpenAgain) {
  document.getElementById("reason").textContent = text;
  document.getElementById("again").hidden = !canOpenAgain;
  document.getElementById("closed").hidden = false;
}

async function sayClosed() {
  try {
    const answer = await fetch("tab");
    say(await answer.text(), answer.status !== 410);
  } catch {
    say("The session has ended.", false);
  }
}

window.addEventListener("error", () => {
  if (!document.body.classList.contains("-loaded")) {
    say("This browser cannot draw the screen: it needs WebGL 2.", false);
  }
});

window.addEventListener("load", () => {
  document.getElementById("again").addEventListener("click", () => location.reload());
  let isLoaded = false;
  new MutationObserver((_changes, observer) => {
    const states = document.body.classList;
    if (states.contains("-loaded") && !isLoaded) {
      // Not before: the emulator sends that it has the focus.
      isLoaded = true;
      document.querySelector(".xterm-helper-textarea")?.focus();
    }
    if (states.contains("-closed")) {
      observer.disconnect();
      sayClosed();
    }
  }).observe(document.body, { attributeFilter: ["class"] });
});
