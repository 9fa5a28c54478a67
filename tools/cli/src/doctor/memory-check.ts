import { type Finding, ok, warning } from './machine-check.ts';

const MEBIBYTE = 1024 ** 2;
/** What one session takes (measured: 155 to 209 MiB). */
const PER_SESSION = 200 * MEBIBYTE;
const ENOUGH = 3;

/** @param available bytes that this machine, or the limit set on us, still has to give. */
export function checkMemory(available: number): Finding {
  const sessions = Math.floor(available / PER_SESSION);
  const found = `${size(available)} free, enough for about ${sessions === 1 ? '1 session' : `${sessions} sessions`} at once`;
  if (sessions >= ENOUGH) return ok(found);
  return warning(
    found,
    `Close other programs, or start fewer at once: callboard start --max-parallel ${Math.max(sessions, 1)}`,
  );
}

const size = (bytes: number) =>
  bytes >= 1024 * MEBIBYTE ? `${(bytes / (1024 * MEBIBYTE)).toFixed(1)} GiB` : `${Math.floor(bytes / MEBIBYTE)} MiB`;
