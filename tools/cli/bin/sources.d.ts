export function builtFrom(root: string): string;
export function fingerprint(root: string): string;
export function isFresh(root: string): boolean;
