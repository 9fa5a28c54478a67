import {
  type AdoptBody,
  type Conversation,
  type ConversationFolder,
  type Issue,
  type IssueList,
  LISTED_ISSUES,
  type ProjectId,
  type StageId,
} from '@callboard/contract';
import { Badge, Box, Button, Checkbox, Flex, Select, Stack, Text, TextInput } from '@mantine/core';
import { IconExternalLink, IconGitBranch, IconMessages } from '@tabler/icons-react';
import { keepPreviousData, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { useBoardUi } from '../../data/board-ui.ts';
import { boardQuery } from '../../data/queries.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { count, formatSize } from '../../lib/format.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { FormEnd } from '../../ui/form-end.tsx';
import { ErrorNote, FinishProblemNote, Note } from '../../ui/notes.tsx';
import { Facts, Hint, Indented, RowButton, ScrollList } from '../../ui/primitives.tsx';
import { MiddleCut, TimeSince } from '../../ui/text.tsx';

/** Chooses a conversation that was begun in a terminal, and continues it as a stage. */
export function ConversationsForm({ wantedProject }: { wantedProject: ProjectId | null }) {
  return (
    <ProjectField wanted={wantedProject}>
      {(projectId) => <ChooseConversation key={projectId} projectId={projectId} />}
    </ProjectField>
  );
}

function ChooseConversation({ projectId }: { projectId: ProjectId }) {
  const { data, error, isFetching, refetch } = useQuery(conversationsQuery(projectId));
  const [text, setText] = useState('');
  const [chosen, choose] = useState<Conversation | null>(null);
  if (chosen !== null && data !== undefined)
    return (
      <AdoptForm
        projectId={projectId}
        conversation={chosen}
        folder={folderOf(chosen, data.folders)}
        back={() => choose(null)}
      />
    );
  if (error !== null)
    return (
      <ErrorNote
        lead="The conversations could not be read."
        error={error}
        retry={() => void refetch()}
        isRetrying={isFetching}
      />
    );
  if (data === undefined) return <Box h={120} aria-busy role="status" aria-label="Reading conversations" />;
  if (data.conversations.length === 0)
    return (
      <Hint>
        No conversations here. Those that you hold with <code>claude</code> in a terminal, in a folder of this project,
        are listed. Callboard looks in <code>{data.source}</code>.
      </Hint>
    );
  const found = findConversations(data.conversations, text);
  return (
    <>
      <TextInput
        label="Search"
        placeholder="Words, branch or folder"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        data-autofocus
      />
      <ScrollList mih={120} mah="min(52vh, 480px)" p="xs" aria-label="Conversations">
        {found.map((conversation) => (
          <li key={conversation.conversationId}>
            <ConversationRow conversation={conversation} press={() => choose(conversation)} />
          </li>
        ))}
      </ScrollList>
      {found.length === 0 && <Hint>Nothing matches "{text}".</Hint>}
      {data.older > 0 && <Hint>{count(data.older, 'older one is', 'older ones are')} not listed.</Hint>}
    </>
  );
}

function ConversationRow({ conversation, press }: { conversation: Conversation; press: () => void }) {
  const { folder, branch, messages, bytes, updatedAt, isOpen } = conversation;
  return (
    <RowButton onClick={press}>
      <Flex component="span" direction="column" miw={0}>
        <Flex component="span" gap="sm" align="center">
          <span className="truncate">{conversationTitle(conversation)}</span>
          {isOpen && (
            <Badge variant="default" size="sm" tt="none" fw={500} flex="none">
              Open in a terminal
            </Badge>
          )}
        </Flex>
        <Facts component="span" fz="xs" align="center">
          <TimeSince at={updatedAt} ago />
          <Fact icon={<IconMessages size={14} aria-hidden />}>
            {messages === null ? formatSize(bytes) : count(messages, 'message')}
          </Fact>
          {branch !== null && <Fact icon={<IconGitBranch size={14} aria-hidden />}>{branch}</Fact>}
          <Box component="code" miw={0} maw="100%">
            <MiddleCut text={folder} />
          </Box>
        </Facts>
      </Flex>
    </RowButton>
  );
}

const Fact = ({ icon, children }: { icon: ReactNode; children: ReactNode }) => (
  <Flex component="span" gap="xs" align="center" miw={0}>
    {icon} {children}
  </Flex>
);

interface AdoptFormProps {
  projectId: ProjectId;
  conversation: Conversation;
  /** The checkout that it was held in; null if that is gone. */
  folder: ConversationFolder | null;
  back: () => void;
}

function AdoptForm({ projectId, conversation, folder, back }: AdoptFormProps) {
  const { conversationId, firstWords, isOpen } = conversation;
  const [title, setTitle] = useState(() => conversationTitle(conversation));
  const [uncommitted, setUncommitted] = useState(true);
  const closeForm = useBoardUi((ui) => ui.closeForm);
  const navigate = useNavigate();
  const adopt = useAdoptConversation(projectId, (stageId) => {
    closeForm();
    void navigate(`/stages/${stageId}`);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    adopt.mutate({ conversationId, uncommitted, ...(title.trim() !== '' && { title: title.trim() }) });
  };
  const files = folder?.uncommitted ?? 0;
  return (
    <Flex component="form" direction="column" gap="lg" onSubmit={submit} noValidate>
      <TextInput
        label="Title"
        value={title}
        maxLength={300}
        onChange={(event) => setTitle(event.currentTarget.value)}
        data-autofocus
      />
      <Indented component="blockquote" className="pre-wrap" mah={132} c="dimmed" fz="row">
        {firstWords}
      </Indented>
      <Hint>{whereItBegins(folder)}</Hint>
      {files > 0 && (
        <Checkbox
          label={`Take ${count(files, 'uncommitted file')} along`}
          description="As they are now, without ignored files. They stay in the folder as well."
          checked={uncommitted}
          onChange={(event) => setUncommitted(event.currentTarget.checked)}
        />
      )}
      <Hint>
        Claude continues with a copy of the conversation when you write the next message. The conversation in the
        terminal stays as it is.
        {isOpen && ' It is open there now: what is said there from here on is not in the stage.'}
      </Hint>
      {adopt.isError && <ErrorNote lead="The conversation was not continued." error={adopt.error} />}
      <FormEnd>
        <Button mr="auto" variant="default" onClick={back}>
          Back
        </Button>
        <Button type="submit" disabled={!useCanCommand()} loading={adopt.isPending}>
          Continue as a stage
        </Button>
      </FormEnd>
    </Flex>
  );
}

function whereItBegins(folder: ConversationFolder | null): string {
  if (folder === null)
    return 'Its folder is gone, so the worktree of the stage begins like that of a new one. Claude may speak of files that are not there.';
  const at = folder.branch === null ? 'the commit' : `the newest commit of ${folder.branch}, the branch`;
  return `The worktree of the stage begins at ${at} that ${folder.folder} is on.`;
}

/** The conversations that were begun in a terminal. No event tells of them. */
const conversationsQuery = (projectId: ProjectId) =>
  queryOptions({
    queryKey: ['conversations', projectId],
    queryFn: ({ signal }) => client.command('get_conversations', { projectId }, { signal }),
    staleTime: 0,
  });

/** Open issues of the code host, found by words and a label. */
const issuesQuery = (projectId: ProjectId, { q, label }: { q: string; label: string }) =>
  queryOptions({
    queryKey: ['issues', projectId, q, label],
    queryFn: ({ signal }) =>
      client.command('get_issues', { projectId, ...(q !== '' && { q }), ...(label !== '' && { label }) }, { signal }),
    staleTime: 0,
    placeholderData: keepPreviousData,
  });

/** Makes a stage of a conversation. */
const useAdoptConversation = (projectId: ProjectId, done: (stageId: StageId) => void) =>
  useCommand({
    run: (order: AdoptBody) => client.command('adopt_conversation', { projectId, ...order }),
    done: ({ stage }) => done(stage.id),
  });

/** Makes stages of issues. */
function useImportIssues(projectId: ProjectId, done: () => void) {
  const cache = useQueryClient();
  return useCommand({
    run: (numbers: readonly number[]) => client.command('import_issues', { projectId, numbers: [...numbers] }),
    done: () => {
      done();
      void cache.invalidateQueries({ queryKey: ['issues', projectId] });
    },
  });
}

const MAX_LENGTH = 80;

/** What a conversation is called: its name, or the beginning of its first line. */
function conversationTitle({ name, firstWords }: Pick<Conversation, 'name' | 'firstWords'>): string {
  const [line = ''] = (name ?? firstWords).trim().split('\n');
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH - 3).trimEnd()}...`;
}

/** The conversations in which each word occurs. */
function findConversations(all: readonly Conversation[], text: string): readonly Conversation[] {
  const message = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return all.filter(({ name, firstWords, folder, branch }) => {
    const where = [name, firstWords, folder, branch].join('\n').toLowerCase();
    return message.every((word) => where.includes(word));
  });
}

/** The checkout in which a conversation was held, as it is now: the innermost one. */
function folderOf({ folder }: Conversation, folders: readonly ConversationFolder[]): ConversationFolder | null {
  const around = folders.filter((one) => folder === one.folder || folder.startsWith(`${one.folder}/`));
  return around.toSorted((a, b) => b.folder.length - a.folder.length)[0] ?? null;
}

interface ProjectFieldProps {
  /** Null: the first one. */
  wanted: ProjectId | null;
  children: (projectId: ProjectId) => ReactNode;
}

/** A form about one project. With several on the board, it can be chosen. */
function ProjectField({ wanted, children }: ProjectFieldProps) {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const [picked, pick] = useState(wanted);
  const project = projects.find(({ id }) => id === picked) ?? projects[0];
  if (project === undefined) return <Hint>Add a project first.</Hint>;
  return (
    <Stack gap="lg">
      {projects.length > 1 && (
        <Select
          label="Project"
          data={projects.map(({ id, name }) => ({ value: id, label: name }))}
          value={project.id}
          onChange={(id) => pick(projects.find((one) => one.id === id)?.id ?? null)}
          allowDeselect={false}
        />
      )}
      {children(project.id)}
    </Stack>
  );
}

/** Chooses issues of the code host, and makes a stage of each. */
export function IssuesForm({ wantedProject }: { wantedProject: ProjectId | null }) {
  return (
    <ProjectField wanted={wantedProject}>
      {(projectId) => <ChooseIssues key={projectId} projectId={projectId} />}
    </ProjectField>
  );
}

const NO_FILTER = { q: '', label: '' };

function ChooseIssues({ projectId }: { projectId: ProjectId }) {
  const [typed, type] = useState(NO_FILTER);
  const [filter, search] = useState(NO_FILTER);
  const [chosen, choose] = useState<readonly number[]>([]);
  const { data, error, isFetching, refetch } = useQuery(issuesQuery(projectId, filter));
  const take = useImportIssues(projectId, () => choose([]));
  const canCommand = useCanCommand();
  if (error !== null)
    return (
      <ErrorNote
        lead="The issues could not be read."
        error={error}
        retry={() => void refetch()}
        isRetrying={isFetching}
      />
    );
  if (data?.problem != null)
    return <FinishProblemNote problem={data.problem} isReading={isFetching} readAgain={() => void refetch()} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    search(typed);
  };
  return (
    <>
      <Flex component="form" wrap="wrap" align="flex-end" gap="sm" onSubmit={submit}>
        <TextInput
          label="Search"
          placeholder="Words, or what the search of the code host takes"
          flex="1 1 240px"
          value={typed.q}
          onChange={(event) => type({ ...typed, q: event.currentTarget.value })}
          data-autofocus
        />
        <TextInput
          label="Label"
          flex="0 1 160px"
          value={typed.label}
          onChange={(event) => type({ ...typed, label: event.currentTarget.value })}
        />
        <Button type="submit" variant="default" loading={isFetching}>
          Search
        </Button>
      </Flex>
      {data === undefined ? (
        <Box h={120} aria-busy role="status" aria-label="Reading issues" />
      ) : (
        <Issues data={data} chosen={chosen} choose={choose} />
      )}
      <Hint>Anybody may have written an issue. Read it before you start its stage.</Hint>
      {take.isSuccess && <Taken reply={take.data} />}
      {take.isError && <ErrorNote lead="Not all issues were imported." error={take.error} />}
      <FormEnd>
        <Button
          disabled={!canCommand || chosen.length === 0}
          loading={take.isPending}
          onClick={() => take.mutate(chosen)}
        >
          {chosen.length === 0 ? 'Import' : `Import ${count(chosen.length, 'issue')}`}
        </Button>
      </FormEnd>
    </>
  );
}

interface IssuesProps {
  data: IssueList;
  chosen: readonly number[];
  choose: (numbers: readonly number[]) => void;
}

function Issues({ data: { issues, repository }, chosen, choose }: IssuesProps) {
  if (issues.length === 0) return <Hint>No open issues{repository && ` in ${repository}`}.</Hint>;
  const toggle = (number: number) =>
    choose(chosen.includes(number) ? chosen.filter((one) => one !== number) : [...chosen, number]);
  return (
    <>
      <ScrollList mih={120} mah="min(52vh, 480px)" p="xs" aria-label="Issues">
        {issues.map((issue) => (
          <li key={issue.number}>
            <IssueRow issue={issue} isChosen={chosen.includes(issue.number)} toggle={() => toggle(issue.number)} />
          </li>
        ))}
      </ScrollList>
      {issues.length === LISTED_ISSUES && <Hint>Only {LISTED_ISSUES} are listed. Search for others.</Hint>}
    </>
  );
}

function IssueRow({ issue, isChosen, toggle }: { issue: Issue; isChosen: boolean; toggle: () => void }) {
  const { number, title, url, labels, author, updatedAt, stageId } = issue;
  return (
    <Box p="xs">
      <Checkbox
        checked={isChosen}
        onChange={toggle}
        label={
          <>
            {title}{' '}
            <Text span c="dimmed" inherit>
              #{number}
            </Text>
          </>
        }
      />
      <Facts pl={28} fz="xs" align="center">
        {updatedAt !== null && <TimeSince at={updatedAt} ago />}
        {author !== null && <span>{author}</span>}
        {labels.map((label) => (
          <Badge key={label} variant="default" size="sm" tt="none" fw={500}>
            {label}
          </Badge>
        ))}
        {stageId !== null && <Link to={`/stages/${stageId}`}>{stageId}</Link>}
        <a href={url} target="_blank" rel="noreferrer" aria-label={`Issue ${number} on its page`}>
          <IconExternalLink size={14} aria-hidden />
        </a>
      </Facts>
    </Box>
  );
}

function Taken({ reply: { created, updated, kept } }: { reply: { created: number; updated: number; kept: string[] } }) {
  return (
    <div role="status">
      <Note>
        {count(created, 'stage')} created, {updated} updated.
        {kept.length > 0 && ` ${kept.join(', ')} stay as they are: they were started, or edited here.`}
      </Note>
    </div>
  );
}
