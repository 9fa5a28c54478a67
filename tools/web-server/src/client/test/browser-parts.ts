import { configure } from '@testing-library/react';
import { WAIT_MS } from '../../../../../test-support/until.ts';

/** What jsdom lacks and the page needs. Everything that depends on layout answers as for a page of 1280 x 800. */
const realFetch = globalThis.fetch;
// The page's own requests have no origin, which Node's `fetch` demands.
globalThis.fetch = (input, init) => realFetch(typeof input === 'string' ? new URL(input, location.href) : input, init);

window.matchMedia = (query) => ({
  ...{ matches: false, media: query, onchange: null },
  addEventListener: () => undefined,
  removeEventListener: () => undefined,
  addListener: () => undefined,
  removeListener: () => undefined,
  dispatchEvent: () => false,
});

class NeverResized implements ResizeObserver {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
globalThis.ResizeObserver = NeverResized;

class NeverSeen implements IntersectionObserver {
  readonly root = null;
  readonly rootMargin = '';
  readonly scrollMargin = '';
  readonly thresholds = [];
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
  takeRecords(): IntersectionObserverEntry[] {
    return [];
  }
}
globalThis.IntersectionObserver = NeverSeen;
// A growing text box measures itself anew when a font has loaded.
Object.defineProperty(document, 'fonts', { value: new EventTarget(), configurable: true });
Element.prototype.scrollIntoView = () => undefined;
// A virtual list draws only the rows that fit.
Object.defineProperties(HTMLElement.prototype, { offsetHeight: { value: 800 }, offsetWidth: { value: 1280 } });

// As long as every wait of the other tests, and without the whole page in the error.
configure({ asyncUtilTimeout: WAIT_MS, getElementError: (message) => new Error(message ?? 'Not found') });
