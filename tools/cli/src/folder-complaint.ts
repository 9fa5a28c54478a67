import { messageOf, systemCode } from '@callboard/runtime/errors';

/** Why a data directory cannot be made, or used. */
export function folderComplaint(error: unknown): string {
  switch (systemCode(error)) {
    case 'ENOTDIR':
    case 'EEXIST':
      return 'it is not a folder, or lies in something that is none';
    case 'EACCES':
    case 'EPERM':
      return 'this account may not write there';
    case 'ENOENT':
      return 'no folder can be made there';
    case 'EROFS':
      return 'that file system cannot be written to';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full';
    default:
      return messageOf(error);
  }
}
