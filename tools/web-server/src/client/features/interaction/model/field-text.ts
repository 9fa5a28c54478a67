import { useSyncExternalStore } from 'react';
import { isTextField } from '../../../ui/shortcuts.ts';

// Excludes the invisible copy with which a growing field measures itself.
const FIELDS = ['textarea', 'input', '[contenteditable]:not([contenteditable="false"])']
  .map((field) => `${field}:not([aria-hidden="true"])`)
  .join();
/** The polling interval for text that changes without an event (a restored draft, a sent message). */
const CHECK_INTERVAL_MS = 250;

function pausesText(field: Element): boolean {
  if (field instanceof HTMLSelectElement || !isTextField(field)) return false;
  const isInput = field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement;
  if (isInput && (field.readOnly || field.type === 'hidden')) return false;
  // A filter field keeps its text; it counts as being edited only while it has the focus.
  if (field.matches('[data-shortcut="find"], [type="search"]') && field !== document.activeElement) return false;
  return (isInput ? field.value : (field.textContent ?? '')).trim() !== '';
}

/** Whether a field holds unsent text. @param outside ignores fields inside elements that match this selector */
export function hasFieldText(outside?: string): boolean {
  return [...document.querySelectorAll(FIELDS)].some(
    (field) => (outside === undefined || field.closest(outside) === null) && pausesText(field),
  );
}

function onFieldText(changed: () => void): () => void {
  const events = ['input', 'change', 'focusin', 'focusout'];
  for (const name of events) document.addEventListener(name, changed);
  const timer = setInterval(changed, CHECK_INTERVAL_MS);
  return () => {
    for (const name of events) document.removeEventListener(name, changed);
    clearInterval(timer);
  };
}

/** Subscribes to `hasFieldText`. */
export const useFieldText = (outside?: string): boolean =>
  useSyncExternalStore(onFieldText, () => hasFieldText(outside));
