import type { PendingRequest } from '@callboard/contract';
import { requestKinds } from './registry.ts';
import type { Summary } from './shared/definition.ts';

/** Returns the name of a form or dialog: "Login form: Run this command?". */
export const askTitle = (request: PendingRequest, stageTitle: string, folder: string | null): string =>
  `${stageTitle}: ${requestText(request, folder)}`;

/** Returns that name without the stage's title, as its heading: "Run this command?". */
export const requestText = (request: PendingRequest, folder: string | null): string =>
  requestKinds[request.kind].title(request, folder);

/** Returns what is asked, in one line that the caller truncates, and how to show it. */
export const askLine = (request: PendingRequest, folder: string | null): Summary =>
  requestKinds[request.kind].summary(request, folder);

/** Returns one line, which the caller truncates: "npm i", "Edit src/app.ts". */
export const askSummary = (request: PendingRequest, folder: string | null): string =>
  requestKinds[request.kind].summary(request, folder).text;

/** Returns the path in `askSummary`; empty if it has none. */
export const askPath = (request: PendingRequest, folder: string | null): string =>
  requestKinds[request.kind].summary(request, folder).path ?? '';
