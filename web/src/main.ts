// The page of the HTML report. It is bundled by esbuild and embedded into the program (see cmake/web.cmake).

import { readPage } from "./decode";
import { makePage } from "./page";

async function main(): Promise<void> {
  try {
    const profile = await readPage(document);
    makePage(profile, document.body);
  } catch (error) {
    const sentence = document.createElement("p");
    sentence.className = "failure";
    sentence.setAttribute("role", "alert");
    sentence.textContent = error instanceof Error ? error.message : String(error);
    document.body.prepend(sentence);
    throw error;
  }
}

void main();
