import type { PendingRequest } from '@callboard/contract';
import type { ComponentType } from 'react';
import type { FormParts } from '../../form-parts.ts';
import type { FormProps } from '../../use-request.ts';

export interface RequestBodyProps extends FormProps {
  /** Use these instead of importing them: the board loads a kind's file before it shows any form. */
  parts: FormParts;
}

/** One line about a request. The caller truncates it. */
export interface Summary {
  text: string;
  /** Whether it is code, to be set in monospace: a command, or the part of it that matters most. */
  isCode?: true;
  /** What Claude says the call is for. */
  about?: string;
  /** A path within the text; it is truncated in the middle. */
  path?: string;
}

/**
 * Everything the board knows about one kind of request. Each file `kinds/<kind>.tsx` exports one, named after the file in camel case;
 * `scripts/write-kinds.ts` collects them in `kinds/registry.ts`.
 */
export interface RequestKindView {
  /** Its name in the decision log. */
  name: string;
  /** The form's heading, below the stage's title: "Run this command?". @param folder the stage's worktree */
  title: (request: PendingRequest, folder: string | null) => string;
  /** The line on the card and in the inbox: "npm i", "Edit src/app.ts". Its icon says what kind of request it is. */
  summary: (request: PendingRequest, folder: string | null) => Summary;
  /** The form below its title: content and buttons. */
  Body: ComponentType<RequestBodyProps>;
  /** The word for a denial. */
  denied: 'Denied' | 'Declined';
  /** Whether a decision says that the input was changed before it ran. */
  showsChangedInput: boolean;
  /** Whether the folded line in the transcript says what was asked, because no tool call above it does. */
  namesSubject: boolean;
  /** Whether a person may decide equal requests together in the inbox. */
  canBeGrouped: boolean;
  /** Whether the line on the card is enough to decide on. If so, the card has buttons. */
  isDecidableOnCard: (request: PendingRequest) => boolean;
}
