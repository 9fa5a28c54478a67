import type { PendingRequest } from '@callboard/contract';
import { requestKinds } from '../kinds/registry.ts';

/** Returns the name of a form or dialog: "Login form wants to run a command". */
export const askTitle = (request: PendingRequest, stageTitle: string, folder: string | null): string =>
  `${stageTitle} ${askWords(request, folder)}`;

/** Returns that name without the stage's title: "wants to run a command". */
export const askWords = (request: PendingRequest, folder: string | null): string =>
  requestKinds[request.kind].title(request, folder);

/** Returns one line, which the caller truncates: "asks to run: npm i". */
export const askSummary = (request: PendingRequest, folder: string | null): string =>
  requestKinds[request.kind].summary(request, folder).text;

/** Returns the path in `askSummary`; empty if it has none. */
export const askPath = (request: PendingRequest, folder: string | null): string =>
  requestKinds[request.kind].summary(request, folder).path ?? '';
