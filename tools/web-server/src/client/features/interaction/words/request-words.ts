import type { PendingRequest } from '@callboard/contract';
import { requestKinds } from '../kinds/registry.ts';

/** "Login form wants to run a command": the name of a form or dialog. */
export const askTitle = (request: PendingRequest, stageTitle: string, folder: string | null): string =>
  `${stageTitle} ${askWords(request, folder)}`;

/** "wants to run a command": that name without the stage's title. */
export const askWords = (request: PendingRequest, folder: string | null): string =>
  requestKinds[request.kind].title(request, folder);

/** "asks to run: npm i": one line, to be cut by whoever shows it. */
export const askSummary = (request: PendingRequest, folder: string | null): string =>
  requestKinds[request.kind].summary(request, folder).text;

/** The path that `askSummary` names; empty where it names none. */
export const askPath = (request: PendingRequest, folder: string | null): string =>
  requestKinds[request.kind].summary(request, folder).path ?? '';
