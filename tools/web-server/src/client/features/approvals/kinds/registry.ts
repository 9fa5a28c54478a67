// Written by scripts/write-kinds.ts from the names of the files that define a kind. Do not edit.
import type { RequestKind } from '@callboard/contract';
import { approval } from './approval.tsx';
import { elicitation } from './elicitation.tsx';
import { network } from './network.tsx';
import { plan } from './plan.tsx';
import { question } from './question.tsx';
import type { RequestKindView } from './shared/definition.ts';

export const requestKinds: Readonly<Record<RequestKind, RequestKindView>> = {
  approval,
  question,
  plan,
  elicitation,
  network,
};
