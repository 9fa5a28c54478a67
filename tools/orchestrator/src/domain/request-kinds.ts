import type { RequestKind } from '@callboard/contract';
import { own } from '../lib/own.ts';

/** The tools that wait for something else than a yes or no; every other tool call is an approval. */
const INTERACTIVE_TOOLS: Readonly<Record<string, RequestKind>> = { AskUserQuestion: 'question', ExitPlanMode: 'plan' };

/** What kind of request a call of this tool is. */
export const requestKind = (toolName: string): RequestKind => own(INTERACTIVE_TOOLS, toolName) ?? 'approval';
