const URL_HOST = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]+)/i;
const REMOTE = /^(?:[^@/\s]+@)?([\w.-]+|\[[\da-f:]+\]):(?!\\)/i;
const BARE = /^(?:[^@/\s]+@)?((?:[\w-]+\.)+[a-z]{2,}|localhost|\d+\.\d+\.\d+\.\d+)(?:[:/?#]|$)/i;

/** The host that a URL, or an address without a scheme, names; null if it names none. */
export const hostOf = (text: string): string | null => URL_HOST.exec(text)?.[1] ?? BARE.exec(text)?.[1] ?? null;

/** The host of `user@host:path`; null for a path of this machine. */
export const remoteHostOf = (text: string): string | null => URL_HOST.exec(text)?.[1] ?? REMOTE.exec(text)?.[1] ?? null;
