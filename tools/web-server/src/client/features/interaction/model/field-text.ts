import { useSyncExternalStore } from 'react';
import { isTextField } from '../../../ui/shortcuts.ts';

// Not what a growing field is measured with, which nobody sees.
const FIELDS = ['textarea', 'input', '[contenteditable]:not([contenteditable="false"])']
  .map((field) => `${field}:not([aria-hidden="true"])`)
  .join();
/** Text that no event tells of (a draft that was restored, a message that was sent) is seen after this time. */
const LOOK_MS = 250;

function holdsText(field: Element): boolean {
  if (field instanceof HTMLSelectElement || !isTextField(field)) return false;
  const isInput = field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement;
  if (isInput && (field.readOnly || field.type === 'hidden')) return false;
  // What narrows a list holds already: it is being written only while it has the focus.
  if (field.matches('[data-shortcut="find"], [type="search"]') && field !== document.activeElement) return false;
  return (isInput ? field.value : (field.textContent ?? '')).trim() !== '';
}

/** Whether a field holds text that was not sent; `outside` leaves out those within it. */
export function hasFieldText(outside?: string): boolean {
  return [...document.querySelectorAll(FIELDS)].some(
    (field) => (outside === undefined || field.closest(outside) === null) && holdsText(field),
  );
}

function onFieldText(changed: () => void): () => void {
  const events = ['input', 'change', 'focusin', 'focusout'];
  for (const name of events) document.addEventListener(name, changed);
  const timer = setInterval(changed, LOOK_MS);
  return () => {
    for (const name of events) document.removeEventListener(name, changed);
    clearInterval(timer);
  };
}

/** As `hasFieldText`, followed while the caller is shown. */
export const useFieldText = (outside?: string): boolean =>
  useSyncExternalStore(onFieldText, () => hasFieldText(outside));
