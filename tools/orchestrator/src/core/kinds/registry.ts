// Written by scripts/write-kinds.ts from the names of the files that define a kind. Do not edit.
import type { RequestKind } from '@callboard/contract';
import { approval } from './approval.ts';
import { elicitation } from './elicitation.ts';
import { network } from './network.ts';
import { plan } from './plan.ts';
import { question } from './question.ts';
import type { RequestKindDefinition } from './shared/definition.ts';

export const requestKinds: Readonly<Record<RequestKind, RequestKindDefinition>> = {
  approval,
  question,
  plan,
  elicitation,
  network,
};
