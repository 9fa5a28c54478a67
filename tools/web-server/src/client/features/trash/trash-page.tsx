import type { TrashEntry } from '@callboard/contract';
import { Box, Button, Flex, Group, Text, TextInput } from '@mantine/core';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { count, exactTime, formatSize } from '../../lib/format.ts';
import { useNow } from '../../lib/hooks.ts';
import { workText } from '../../lib/removal-text.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { PlainPage } from '../../ui/plain-page.tsx';
import { Entry, Facts, Hint } from '../../ui/primitives.tsx';
import { SavedFiles } from '../../ui/saved-files.tsx';
import { TimeSince } from '../../ui/text.tsx';

/** What was kept from worktrees that were removed. */
export default function TrashPage() {
  const trash = useQuery(trashQuery);
  const restore = useRestore();
  const [restoring, setRestoring] = useState<TrashEntry | null>(null);
  const close = () => {
    setRestoring(null);
    if (restore.isError) restore.reset();
  };
  return (
    <PlainPage
      title="Trash"
      about="Leftovers from removed worktrees: uncommitted and ignored files. Deleted after 30 days."
    >
      {restore.isSuccess && (
        <div role="status">
          <Note>
            Restored into <code>{restore.data.folder}</code>
            {restore.data.branch !== null && (
              <>
                , on the branch <code>{restore.data.branch}</code>
              </>
            )}
          </Note>
        </div>
      )}
      {trash.error !== null && (
        <ErrorNote lead="The trash could not be read." error={trash.error} retry={() => void trash.refetch()} />
      )}
      {trash.data?.entries.length === 0 && <Hint mb="lg">The trash is empty.</Hint>}
      <Box component="ul" maw={860} aria-label="Trash">
        {trash.data?.entries.map((entry) => (
          <TrashRow key={entry.id} entry={entry} restore={() => setRestoring(entry)} />
        ))}
      </Box>
      <Dialog opened={restoring !== null} close={close} title={`Restore ${restoring?.stageTitle ?? ''}`} size={520}>
        {restoring !== null && (
          <RestoreForm
            entry={restoring}
            problem={restore.error}
            busy={restore.isPending}
            close={close}
            run={(folder) => restore.mutate({ entry: restoring, folder }, { onSuccess: () => setRestoring(null) })}
          />
        )}
      </Dialog>
    </PlainPage>
  );
}

const DAY_MS = 24 * 3_600_000;

function TrashRow({ entry, restore }: { entry: TrashEntry; restore: () => void }) {
  const { stageTitle, projectName, stageId, at, by, expiresAt, files, fileCount, bytes, work } = entry;
  const days = Math.max(0, Math.ceil((Date.parse(expiresAt) - useNow()) / DAY_MS));
  return (
    <Entry>
      <div>
        <Text fw={600}>{stageTitle}</Text>
        <Facts>
          <span>
            {projectName} / {stageId}
          </span>
          <span>
            removed <TimeSince at={at} ago />
            {by !== null && ` by ${by}`}
          </span>
          <span title={exactTime(expiresAt)}>{count(days, 'day')} left</span>
        </Facts>
        {work !== null && (
          <Text size="row">
            {workText(work)}
            {work.branch !== null && (
              <>
                {' '}
                of <code>{work.branch}</code>
              </>
            )}
            , kept as <code title={work.ref}>{work.commit.slice(0, 7)}</code>
          </Text>
        )}
        {fileCount > 0 && <SavedList files={files} fileCount={fileCount} bytes={bytes} />}
      </div>
      <Button variant="default" size="compact-sm" aria-label={`Restore ${stageTitle}`} onClick={restore}>
        Restore
      </Button>
    </Entry>
  );
}

function SavedList({ files, fileCount, bytes }: Pick<TrashEntry, 'files' | 'fileCount' | 'bytes'>) {
  return (
    <details>
      <summary>
        {count(fileCount, 'item')}, {formatSize(bytes)}
      </summary>
      <SavedFiles files={files} more={fileCount - files.length} label="Files" />
    </details>
  );
}

const PLACE =
  'An absolute path. Leave empty for the worktree of the stage, or a new folder if something else is there.';

interface RestoreFormProps {
  entry: TrashEntry;
  problem: Error | null;
  busy: boolean;
  close: () => void;
  run: (folder: string) => void;
}

function RestoreForm({ entry, problem, busy, close, run }: RestoreFormProps) {
  const [folder, setFolder] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    run(folder);
  };
  return (
    <Flex component="form" direction="column" gap="md" onSubmit={submit} noValidate>
      <TextInput
        label="Folder"
        description={
          entry.worktree === null && entry.work === null
            ? 'An absolute path. Leave empty for a new folder in the data directory.'
            : PLACE
        }
        placeholder={entry.worktree ?? '/home/me/restored'}
        value={folder}
        onChange={(event) => setFolder(event.currentTarget.value)}
        styles={{ input: { fontFamily: 'var(--font-code)' } }}
        data-autofocus
      />
      <Hint>Files that are there already are not overwritten.</Hint>
      {problem !== null && <ErrorNote error={problem} />}
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={close}>
          Cancel
        </Button>
        <Button type="submit" disabled={!useCanCommand()} loading={busy}>
          Restore
        </Button>
      </Group>
    </Flex>
  );
}

/** The trash. No event reports its changes, so it is read again on each visit. */
const trashQuery = queryOptions({
  queryKey: ['trash'],
  staleTime: 0,
  queryFn: ({ signal }) => client.command('get_trash', {}, { signal }),
});

interface Restore {
  entry: TrashEntry;
  /** Empty to restore to the original folder, or to a new one. */
  folder: string;
}

/** Restores an entry. The caller shows refusals. */
function useRestore() {
  const cache = useQueryClient();
  return useCommand({
    run: ({ entry, folder }: Restore) =>
      client.command('restore_trash', { trashId: entry.id, folder: folder.trim() || undefined }),
    done: () => void cache.invalidateQueries({ queryKey: trashQuery.queryKey }),
  });
}
