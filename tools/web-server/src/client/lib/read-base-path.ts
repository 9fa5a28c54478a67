import { setBasePath } from './base-path.ts';

/** Takes the path below which Callboard is from the page, where the server has written it. */
export function readBasePath(): void {
  setBasePath(document.querySelector('meta[name="base-path"]')?.getAttribute('content') ?? '');
}
