import type { RequestKind } from '@callboard/contract';
import { ownProperty } from '../lib/own-property.ts';

/** Tool calls that have a form of their own; every other tool call is an approval. */
const INTERACTIVE_TOOLS: Readonly<Record<string, RequestKind>> = {
  AskUserQuestion: 'question',
  ExitPlanMode: 'plan',
  /** No tool of the model: a command in the sandbox wants to reach a host. */
  SandboxNetworkAccess: 'network',
};

/** What kind of request a call of this tool is. */
export const requestKind = (toolName: string): RequestKind => ownProperty(INTERACTIVE_TOOLS, toolName) ?? 'approval';
