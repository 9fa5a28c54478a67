import type { BuildFolders, SavedFile } from '@callboard/contract';
import { Checkbox } from '@mantine/core';
import { formatSize } from '../lib/format.ts';
import { sizeOf } from '../lib/removal-text.ts';
import { Hint, ScrollList } from './primitives.tsx';

interface SavedFilesProps {
  files: readonly SavedFile[];
  /** How many there are beside those. */
  more: number;
  label: string;
}

/** Files with their sizes. */
export function SavedFiles({ files, more, label }: SavedFilesProps) {
  return (
    <ScrollList aria-label={label}>
      {files.map(({ path, bytes }) => (
        <li key={path}>
          <code>{path}</code>
          <Hint span className="figures">
            {formatSize(bytes)}
          </Hint>
        </li>
      ))}
      {more > 0 && <Hint component="li">and {more} more</Hint>}
    </ScrollList>
  );
}

interface BuildFoldersChoiceProps {
  folders: readonly SavedFile[];
  choice: BuildFolders;
  setChoice: (choice: BuildFolders) => void;
}

/** Asks what becomes of dependencies and build results. Shows nothing if there are none. */
export function BuildFoldersChoice({ folders, choice, setChoice }: BuildFoldersChoiceProps) {
  if (folders.length === 0) return null;
  return (
    <div>
      <Checkbox
        label={`Delete dependencies and build results for good (${formatSize(sizeOf(folders))})`}
        description={choice === 'delete' ? undefined : 'They go to the trash with the rest.'}
        checked={choice === 'delete'}
        onChange={(event) => setChoice(event.currentTarget.checked ? 'delete' : 'keep')}
      />
      <SavedFiles files={folders} more={0} label="Dependencies and build results" />
    </div>
  );
}
