import { userInfo } from 'node:os';

/** Returns the name of the person at this machine. In a container the user may have no account name; then `owner`. */
export function ownerName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'owner';
  }
}
