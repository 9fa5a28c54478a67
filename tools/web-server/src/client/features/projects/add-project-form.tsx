import { type Folder, NewProject } from '@callboard/contract';
import { ActionIcon, Box, Button, Flex, Group, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconArrowUp, IconChevronRight, IconFolder, IconGitBranch } from '@tabler/icons-react';
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useAddProject } from '../../data/board-commands.ts';
import { useBoardUi } from '../../data/board-ui.ts';
import { trustDialog } from '../../data/dialogs.ts';
import { boardQuery } from '../../data/queries.ts';
import { client } from '../../lib/api-client.ts';
import { describeError } from '../../lib/error-steps.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import css from '../../ui/forms.module.css';
import { ErrorNote } from '../../ui/notes.tsx';
import { Hint, Panel, RowButton } from '../../ui/primitives.tsx';
import { MiddleCut } from '../../ui/text.tsx';
import { SandboxFields } from './project-fields.tsx';
import { newSandboxForm, readSandboxForm } from './project-form.ts';

/** Registers a git repository on Callboard's machine. */
export function AddProjectForm({ thenNewStage }: { thenNewStage: boolean }) {
  const [path, setPath] = useState('');
  const [name, setName] = useState('');
  const [sandbox, setSandbox] = useState(newSandboxForm);
  const [problem, setProblem] = useState<string | null>(null);
  const { open, closeForm } = useBoardUi.getState();
  const canCommand = useCanCommand();
  const add = useAddProject((project) => {
    // The trust dialog says so too, and on a phone the notification would cover it.
    if (!project.trust.needed) notifications.show({ message: `${project.name} was added`, color: 'gray' });
    if (thenNewStage) open({ kind: 'new-stage', projectId: project.id });
    else closeForm();
    if (project.trust.needed) trustDialog.open({ projectId: project.id });
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setProblem(path.trim() === '' ? 'The path is empty.' : null);
    const given = { path, ...(name.trim() === '' ? {} : { name }), settings: readSandboxForm(sandbox) };
    const parsed = NewProject.safeParse(given);
    if (parsed.success) add.mutate(parsed.data);
  };
  return (
    <Flex component="form" direction="column" gap="lg" onSubmit={submit} noValidate>
      <FolderPicker chosen={path} choose={setPath} />
      <TextInput
        label="Path"
        description="A git repository on Callboard’s machine. Pick it above or type its path; ~ is the home folder."
        placeholder="~/code/app"
        value={path}
        error={problem ?? add.isError}
        onChange={(event) => setPath(event.currentTarget.value)}
        styles={{ input: { fontFamily: 'var(--font-code)' } }}
        data-autofocus
        required
      />
      {problem === null && add.isError && <ErrorNote error={add.error} />}
      <TextInput
        label="Name"
        description="Defaults to the folder’s name."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <SandboxFields form={sandbox} set={(change) => setSandbox((old) => ({ ...old, ...change }))} />
      <div className={css.end}>
        <Button variant="default" onClick={closeForm}>
          Cancel
        </Button>
        <Button type="submit" disabled={!canCommand} loading={add.isPending}>
          Add project
        </Button>
      </div>
    </Flex>
  );
}

interface FolderPickerProps {
  /** The path of the chosen repository, as typed or picked. */
  chosen: string;
  choose: (path: string) => void;
}

/** Folders of Callboard's machine, from the home folder on. A press on a repository chooses it, on any other folder opens it. */
function FolderPicker({ chosen, choose }: FolderPickerProps) {
  const [at, setAt] = useState<string | undefined>(undefined);
  const { data, error, isPlaceholderData, refetch, isFetching } = useQuery(foldersQuery(at));
  const { data: known = [] } = useQuery({ ...boardQuery, select: (view) => view.projects.map(({ path }) => path) });
  if (error !== null)
    return (
      <Unlisted
        error={error}
        goHome={at === undefined ? null : () => setAt(undefined)}
        retry={() => void refetch()}
        isRetrying={isFetching}
      />
    );
  if (data === undefined) return <Panel h={264} aria-busy />;
  const { folder, parent, folders, here, isCut } = data;
  return (
    <Panel
      component="section"
      h={264}
      p={0}
      gap={0}
      style={{ overflow: 'hidden' }}
      aria-label="Folders"
      aria-busy={isPlaceholderData}
    >
      <Group
        wrap="nowrap"
        flex="none"
        mih={36}
        px="sm"
        c="dimmed"
        fz="xs"
        style={{ borderBottom: '1px solid var(--line)' }}
      >
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label="Folder above"
          title="Folder above"
          disabled={parent === null}
          onClick={() => parent !== null && setAt(parent)}
        >
          <IconArrowUp size={16} aria-hidden />
        </ActionIcon>
        <Box component="code" flex={1} miw={0}>
          <MiddleCut text={folder.path} />
        </Box>
      </Group>
      {folders.length === 0 && (
        <Hint size="xs" p="8px 12px">
          No folders here.
        </Hint>
      )}
      <Box component="ul" className="scrolls" p="xs">
        {folders.map((one) => (
          <Row
            key={one.path}
            folder={one}
            isHere={one.path === here}
            isChosen={one.path === chosen}
            isKnown={known.includes(one.path)}
            press={() => (one.isRepository ? choose(one.path) : setAt(one.path))}
          />
        ))}
      </Box>
      {isCut && (
        <Hint size="xs" p="8px 12px">
          Only the first {folders.length} are listed. Type the path below.
        </Hint>
      )}
    </Panel>
  );
}

interface RowProps {
  folder: Folder;
  /** Callboard was started in it. */
  isHere: boolean;
  isChosen: boolean;
  /** It is on the board already. */
  isKnown: boolean;
  press: () => void;
}

function Row({ folder: { name, path, isRepository }, isHere, isChosen, isKnown, press }: RowProps) {
  const Icon = isRepository ? IconGitBranch : IconFolder;
  return (
    <li>
      <RowButton
        mih="max(36px, var(--touch))"
        c={isKnown ? 'var(--faint)' : isChosen ? 'var(--accent)' : isRepository ? 'var(--text)' : 'dimmed'}
        bg={isRepository && isChosen ? 'var(--accent-soft)' : undefined}
        {...(isRepository && { 'aria-pressed': isChosen })}
        disabled={isKnown}
        onClick={press}
      >
        <Icon size={16} aria-hidden />
        <Text span inherit flex={1} truncate>
          {isHere ? `Here: ${path}` : name}
        </Text>
        <Hint span size="xs">
          {isKnown ? 'on the board' : isRepository ? 'repository' : ''}
        </Hint>
        {!isRepository && <IconChevronRight size={14} aria-hidden />}
      </RowButton>
    </li>
  );
}

interface UnlistedProps {
  error: Error;
  goHome: (() => void) | null;
  retry: () => void;
  isRetrying: boolean;
}

/** What cannot be listed will not be at a second try either; any other failure may pass. */
const Unlisted = ({ error, goHome, retry, isRetrying }: UnlistedProps) => (
  <Stack align="flex-start">
    <ErrorNote error={error} retry={retry} isRetrying={isRetrying} />
    {goHome !== null && describeError(error).step === null && (
      <Button size="compact-md" onClick={goHome}>
        Back to the home folder
      </Button>
    )}
  </Stack>
);

/** The folders within a folder of Callboard's machine; undefined for the home folder. */
const foldersQuery = (path: string | undefined) =>
  queryOptions({
    queryKey: ['folders', path],
    queryFn: ({ signal }) => client.command('list_folders', path === undefined ? {} : { path }, { signal }),
    placeholderData: keepPreviousData,
    staleTime: 5_000,
    retry: false,
  });
