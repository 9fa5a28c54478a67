// Written by scripts/write-kinds.ts from the names of the files that define a kind. Do not edit.

export const REQUEST_KINDS = ['approval', 'question', 'plan', 'elicitation', 'network'] as const;
