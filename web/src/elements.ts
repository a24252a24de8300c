// Builds elements. Text only ever becomes text nodes: names from profiles are never parsed as HTML.

type Child = Node | string | null;

interface Properties {
  class?: string;
  id?: string;
  title?: string;
  /** Plain attributes; those that are null are left out. */
  attributes?: Record<string, string | null>;
  on?: { [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name]) => void };
}

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  if (properties.class) made.className = properties.class;
  if (properties.id) made.id = properties.id;
  if (properties.title) made.title = properties.title;
  for (const [name, value] of Object.entries(properties.attributes ?? {})) {
    if (value !== null) made.setAttribute(name, value);
  }
  for (const [name, handler] of Object.entries(properties.on ?? {})) {
    made.addEventListener(name, handler as EventListener);
  }
  made.append(...children.filter((child): child is Node | string => child !== null));
  return made;
}

/** A labelled button that a screen reader and the keyboard know as one. */
export function button(text: string, act: () => void, properties: Properties = {}): HTMLButtonElement {
  const made = make("button", properties, text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

/** Sets the text only where it differs, so that live regions are not read again. */
export function setText(target: Element, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}
