import type { StageGraph } from '../features/board/graph-model.ts';
import { layOutGraph } from '../features/board/lay-out-graph.ts';

/** What jsdom lacks and the page needs. Everything that depends on layout answers as for a page of 1280 x 800. */
const realFetch = globalThis.fetch;
// The page's own requests have no origin, which Node's `fetch` demands.
globalThis.fetch = (input, init) => realFetch(typeof input === 'string' ? new URL(input, location.href) : input, init);

window.matchMedia = (query) => ({
  matches: false,
  media: query,
  onchange: null,
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

/** The page's only worker lays out the graph. Here it does so in this thread. */
class SameThread extends EventTarget {
  postMessage({ graph, aspect }: { graph: StageGraph; aspect: number }): void {
    this.dispatchEvent(new MessageEvent('message', { data: layOutGraph(graph, aspect) }));
  }
  terminate(): void {}
}
Object.defineProperty(globalThis, 'Worker', { value: SameThread, configurable: true });

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
// A virtual list draws only the rows that fit into its box.
const room = { Height: { value: 800 }, Width: { value: 1280 } };
Object.defineProperties(HTMLElement.prototype, { offsetHeight: room.Height, offsetWidth: room.Width });
Object.defineProperties(HTMLElement.prototype, { clientHeight: room.Height, clientWidth: room.Width });

// A menu hides if what it belongs to is out of sight: everything is in the middle of the page.
Element.prototype.getBoundingClientRect = () => new DOMRect(600, 400, 80, 20);

// A browser stamps an event with the time since its page began to load, as `performance.now()` tells it; jsdom with the date.
const stamp = Object.getOwnPropertyDescriptor(Event.prototype, 'timeStamp')?.get;
Object.defineProperty(Event.prototype, 'timeStamp', {
  get(this: Event) {
    return stamp?.call(this) - performance.timeOrigin;
  },
});
// jsdom does not know this element of HTML, and React says so.
const create = Document.prototype.createElement;
Document.prototype.createElement = function (this: Document, name: string, options?: ElementCreationOptions) {
  const element: HTMLElement = create.call(this, name, options);
  if (name === 'search') Object.defineProperty(element, Symbol.toStringTag, { value: 'HTMLElement' });
  return element;
};
