import type { BuildFolders, CommandReply, ProjectId, ProjectWorktree, WorktreeCleanUp } from '@callboard/contract';
import { Box, Button, Group, Stack, Text } from '@mantine/core';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { describeError } from '../../lib/error-steps.ts';
import { count, formatSize } from '../../lib/format.ts';
import { workText } from '../../lib/removal-text.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Entry, Hint, ScrollList } from '../../ui/primitives.tsx';
import { BuildFoldersChoice, SavedFiles } from '../../ui/saved-files.tsx';
import { TimeSince } from '../../ui/text.tsx';

/** The worktrees of a project with their sizes, and a clean-up of those that nobody needs. */
export function ProjectWorktrees({ projectId }: { projectId: ProjectId }) {
  const canCommand = useCanCommand();
  const { data, error, refetch } = useQuery(worktreesQuery(projectId));
  const [asked, setAsked] = useState<ProjectWorktree | 'all' | null>(null);
  const worktrees = data?.worktrees.toSorted((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0)) ?? [];
  const free = worktrees.filter(({ stays }) => stays === null);
  return (
    <Box component="section" aria-labelledby="worktrees-head">
      <Group gap="4px 12px" align="baseline">
        <h4 id="worktrees-head">Worktrees on this machine</h4>
        {data !== undefined && <Sum worktrees={worktrees} isMeasuring={data.isMeasuring} />}
        {free.length > 1 && (
          <Button ml="auto" variant="default" size="compact-sm" disabled={!canCommand} onClick={() => setAsked('all')}>
            Clean up {free.length} that are not needed
          </Button>
        )}
      </Group>
      {error !== null && (
        <ErrorNote lead="The worktrees could not be listed." error={error} retry={() => void refetch()} />
      )}
      <Box component="ul" mt="sm" aria-label="Worktrees">
        {worktrees.map((worktree) => (
          <WorktreeRow key={worktree.name} worktree={worktree} clean={() => setAsked(worktree)} />
        ))}
      </Box>
      {asked === 'all' && <CleanAll projectId={projectId} worktrees={free} close={() => setAsked(null)} />}
      {asked !== null && asked !== 'all' && (
        <CleanOne projectId={projectId} worktree={asked} close={() => setAsked(null)} />
      )}
    </Box>
  );
}

function Sum({ worktrees, isMeasuring }: { worktrees: readonly ProjectWorktree[]; isMeasuring: boolean }) {
  const oldest = worktrees.flatMap(({ measuredAt }) => measuredAt ?? []).toSorted()[0];
  const bytes = worktrees.reduce((sum, one) => sum + (one.bytes ?? 0), 0);
  return (
    <Hint span role="status">
      {count(worktrees.length, 'worktree')}
      {worktrees.length > 0 && `, ${formatSize(bytes)}`}
      {isMeasuring && ' so far, measuring...'}
      {!isMeasuring && oldest !== undefined && (
        <>
          , measured <TimeSince at={oldest} ago />
        </>
      )}
    </Hint>
  );
}

function WorktreeRow({ worktree, clean }: { worktree: ProjectWorktree; clean: () => void }) {
  const { name, path, stageTitle, bytes, stays } = worktree;
  return (
    <Entry>
      <div>
        <div>{stageTitle ?? `${name} (its stage was deleted)`}</div>
        <Text component="code" c="dimmed" size="xs">
          {path}
        </Text>
        {stays !== null && <Hint component="div">{stays}</Hint>}
      </div>
      <Text span size="row" className="figures">
        {bytes === null ? '...' : formatSize(bytes)}
      </Text>
      <Button
        variant="default"
        size="compact-sm"
        aria-label={`Clean up ${stageTitle ?? name}`}
        disabled={!useCanCommand() || stays !== null}
        onClick={clean}
      >
        Clean up
      </Button>
    </Entry>
  );
}

interface CleanOneProps {
  projectId: ProjectId;
  worktree: ProjectWorktree;
  close: () => void;
}

/** Says what goes where before a worktree is removed. */
function CleanOne({ projectId, worktree, close }: CleanOneProps) {
  const { name, stageTitle } = worktree;
  const [choice, setChoice] = useState<BuildFolders>('delete');
  const plan = useQuery(cleanUpQuery(projectId, name));
  const clean = useCleanWorktrees(projectId);
  return (
    <Dialog opened close={close} title={`Clean up the worktree of ${stageTitle ?? name}`} size={520}>
      <Stack gap="md">
        {plan.isLoading && <Hint>Checking what is in it...</Hint>}
        {plan.error !== null && <ErrorNote error={plan.error} retry={() => void plan.refetch()} />}
        {plan.data !== undefined && <Plan plan={plan.data} choice={choice} setChoice={setChoice} />}
        {clean.error !== null && <ErrorNote error={clean.error} />}
      </Stack>
      <Group justify="flex-end" gap="sm" mt="lg">
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
        <Button
          onClick={() => clean.mutate({ names: [name], buildFolders: choice }, { onSuccess: close })}
          loading={clean.isPending}
          disabled={!useCanCommand() || plan.data === undefined || plan.data.left !== null}
        >
          Clean up
        </Button>
      </Group>
    </Dialog>
  );
}

interface PlanProps {
  plan: WorktreeCleanUp;
  choice: BuildFolders;
  setChoice: (choice: BuildFolders) => void;
}

function Plan({ plan, choice, setChoice }: PlanProps) {
  const { left, path, work, files, fileCount, bytes, buildFolders } = plan;
  if (left !== null) return <p>{left}</p>;
  return (
    <>
      <p>
        The folder{' '}
        <Text component="code" c="dimmed" size="xs">
          {path}
        </Text>{' '}
        is removed.{' '}
        {work === null
          ? 'All its work is merged.'
          : `Its work that is not merged (${workText(work)}) goes to the trash, and can be restored for 30 days.`}
      </p>
      {fileCount > 0 && (
        <div>
          <p>
            {count(fileCount, 'item')} that git does not keep {fileCount === 1 ? 'goes' : 'go'} to the trash (
            {formatSize(bytes)}):
          </p>
          <SavedFiles files={files} more={fileCount - files.length} label="Moved to the trash" />
        </div>
      )}
      <BuildFoldersChoice folders={buildFolders} choice={choice} setChoice={setChoice} />
    </>
  );
}

interface CleanAllProps {
  projectId: ProjectId;
  worktrees: readonly ProjectWorktree[];
  close: () => void;
}

function CleanAll({ projectId, worktrees, close }: CleanAllProps) {
  const canCommand = useCanCommand();
  const [shown] = useState(worktrees);
  const clean = useCleanWorktrees(projectId);
  const failed = clean.data?.failed ?? [];
  return (
    <Dialog opened close={close} title={`Clean up ${count(shown.length, 'worktree')}`} size={520}>
      <Stack gap="md">
        <p>
          Their folders are removed, with dependencies and build results. Work that is not merged and files that git
          ignores go to the trash, and can be restored for 30 days.
        </p>
        <ScrollList>
          {shown.map(({ name, stageTitle }) => (
            <li key={name}>{stageTitle ?? name}</li>
          ))}
        </ScrollList>
        {clean.data !== undefined && (
          <p role="status">
            {count(clean.data.cleaned.length, 'worktree')} cleaned up
            {failed.length > 0 &&
              `, ${failed.length} left in place: ${failed.map((error) => describeError(error).text).join(' ')}`}
          </p>
        )}
      </Stack>
      <Group justify="flex-end" gap="sm" mt="lg">
        <Button variant="default" onClick={close} data-autofocus>
          {clean.data === undefined ? 'Cancel' : 'Close'}
        </Button>
        {clean.data === undefined && (
          <Button
            onClick={() => clean.mutate({ names: shown.map(({ name }) => name), buildFolders: 'delete' })}
            loading={clean.isPending}
            disabled={!canCommand}
          >
            Clean up
          </Button>
        )}
      </Group>
    </Dialog>
  );
}

/** How often the sizes are asked for while they are being measured. */
const MEASURING_MS = 1_000;

/** The worktrees of a project. No event reports them, so they are read again on each visit. */
const worktreesQuery = (projectId: ProjectId) =>
  queryOptions({
    queryKey: ['worktrees', projectId],
    queryFn: ({ signal }) => client.command('get_worktrees', { projectId }, { signal }),
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => (data?.isMeasuring === true ? MEASURING_MS : false),
  });

/** What a clean-up of a worktree would do now. */
const cleanUpQuery = (projectId: ProjectId, name: string) =>
  queryOptions({
    queryKey: ['worktree-clean-up', projectId, name],
    queryFn: async ({ signal }) =>
      (await client.command('get_worktree_clean_up', { projectId, name }, { signal })).cleanUp,
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });

/** Cleans up worktrees, one after another, as far as they can be. The caller shows what did not work. */
function useCleanWorktrees(projectId: ProjectId) {
  const cache = useQueryClient();
  const refresh = () => void cache.invalidateQueries({ queryKey: worktreesQuery(projectId).queryKey });
  return useCommand({
    run: async ({ names, buildFolders }: { names: readonly string[]; buildFolders: BuildFolders }) => {
      const cleaned: CommandReply<'clean_worktree'>[] = [];
      const failed: unknown[] = [];
      for (const name of names) {
        const input = { projectId, name, buildFolders };
        await client.command('clean_worktree', input).then(
          (reply) => cleaned.push(reply),
          (error: unknown) => failed.push(error),
        );
        refresh();
      }
      if (names.length === 1 && failed.length === 1) throw failed[0];
      return { cleaned, failed };
    },
  });
}
