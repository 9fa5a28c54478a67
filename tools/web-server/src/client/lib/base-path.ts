import { createStore } from 'zustand/vanilla';

// Callboard may be one of several programs under a host: everything of it is then below a path (`--public-url`).

const base = createStore(() => ({ path: '' }));

/** Call it first of all. @param path without a slash at its end: "" or "/board" */
export const setBasePath = (path: string): void => base.setState({ path });

/** The path that all of Callboard is below, without a slash at its end. */
export const basePath = (): string => base.getState().path;

/** @param path below Callboard, with a slash at its beginning */
export const withBase = (path: string): string => basePath() + path;

/** Returns the path of a page below Callboard. */
export const pagePath = (pathname: string): string => pathname.slice(basePath().length) || '/';

/** Whether a page was opened above Callboard's path, by its own port: it belongs below it. */
export const isAboveBase = (pathname: string): boolean => !`${pathname}/`.startsWith(`${basePath()}/`);
