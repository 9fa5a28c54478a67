import type { PendingRequest } from '@callboard/contract';
import type { ComponentType } from 'react';
import type { FormParts } from '../../components/form-parts.ts';
import type { FormProps } from '../../model/verdict.ts';

export interface RequestBodyProps extends FormProps {
  /** Use these, and do not import them: the board loads this file before any form is shown. */
  parts: FormParts;
}

/** A line about a request, to be cut by whoever shows it. */
interface Summary {
  text: string;
  /** A path that stands in the text; it is cut in the middle. */
  path?: string;
}

/**
 * Everything the board knows about one kind of request. A file `kinds/<kind>.tsx` exports one, named after the file in camel case;
 * `scripts/write-kinds.ts` collects them in `kinds/registry.ts`.
 */
export interface RequestKindView {
  /** Its name in the decision log. */
  name: string;
  /** The form's title, after the stage's: "wants to run a command". @param folder the stage's worktree */
  title: (request: PendingRequest, folder: string | null) => string;
  /** The line on the card and in the inbox: "asks to run: npm i". */
  summary: (request: PendingRequest, folder: string | null) => Summary;
  /** What the form shows between its title and its end: content and buttons. */
  Body: ComponentType<RequestBodyProps>;
  /** What a no is called. */
  denied: 'Denied' | 'Declined';
  /** Whether a decision says that another input ran than the one that was asked for. */
  showsChangedInput: boolean;
  /** Whether the folded line in the transcript says what was asked: no tool call stands above it. */
  namesSubject: boolean;
  /** Whether equal requests may be decided together in the inbox. */
  canBeGrouped: boolean;
  /** Whether the line on the card says all that there is to decide on, so that the card has buttons. */
  isDecidableOnCard: (request: PendingRequest) => boolean;
}
