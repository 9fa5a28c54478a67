// Which requests this tab is answering, or has answered: their end is no news to it.

const own = new Set<string>();

export const markOwn = (key: string): void => void own.add(key);
/** The answer did not arrive: somebody else's may. */
export const unmarkOwn = (key: string): void => void own.delete(key);
export const isOwn = (key: string): boolean => own.has(key);
