import type { Conversation, ConversationFolder, ProjectId } from '@callboard/contract';
import { Badge, Button, Checkbox, TextInput } from '@mantine/core';
import { IconGitBranch, IconMessages } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useNavigate } from 'react-router';
import { conversationsQuery } from '../../../data/move-in-queries.ts';
import { count, formatSize } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { MiddleCut } from '../../../ui/middle-cut.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useAdoptConversation } from '../api/use-move-in.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { conversationTitle, findConversations, folderOf } from '../model/conversation-list.ts';
import { FormEnd } from './form-end.tsx';
import css from './forms.module.css';
import own from './move-in.module.css';
import { ProjectField } from './project-field.tsx';

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
  if (data === undefined)
    return <div className={own.list} aria-busy role="status" aria-label="Reading conversations" />;
  if (data.conversations.length === 0)
    return (
      <p className={css.about}>
        No conversations here. Those that you hold with <code>claude</code> in a terminal, in a folder of this project,
        are listed. Callboard looks in <code>{data.source}</code>.
      </p>
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
      <ul className={own.list} aria-label="Conversations">
        {found.map((conversation) => (
          <li key={conversation.conversationId}>
            <ConversationRow conversation={conversation} press={() => choose(conversation)} />
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className={css.about}>Nothing matches "{text}".</p>}
      {data.older > 0 && <p className={css.about}>{count(data.older, 'older one is', 'older ones are')} not listed.</p>}
    </>
  );
}

function ConversationRow({ conversation, press }: { conversation: Conversation; press: () => void }) {
  const { folder, branch, messages, bytes, updatedAt, isOpen } = conversation;
  return (
    <button type="button" className={own.row} onClick={press}>
      <span className={own.title}>
        <span>{conversationTitle(conversation)}</span>
        {isOpen && (
          <Badge variant="default" size="sm" tt="none" fw={500}>
            Open in a terminal
          </Badge>
        )}
      </span>
      <span className={own.facts}>
        <TimeSince at={updatedAt} ago />
        <span>
          <IconMessages size={14} aria-hidden /> {messages === null ? formatSize(bytes) : count(messages, 'message')}
        </span>
        {branch !== null && (
          <span>
            <IconGitBranch size={14} aria-hidden /> {branch}
          </span>
        )}
        <code>
          <MiddleCut text={folder} />
        </code>
      </span>
    </button>
  );
}

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
    <form className={css.form} onSubmit={submit} noValidate>
      <TextInput
        label="Title"
        value={title}
        maxLength={300}
        onChange={(event) => setTitle(event.currentTarget.value)}
        data-autofocus
      />
      <blockquote className={own.text}>{firstWords}</blockquote>
      <p className={css.about}>{whereItBegins(folder)}</p>
      {files > 0 && (
        <Checkbox
          label={`Take ${count(files, 'uncommitted file')} along`}
          description="As they are now, without ignored files. They stay in the folder as well."
          checked={uncommitted}
          onChange={(event) => setUncommitted(event.currentTarget.checked)}
        />
      )}
      <p className={css.about}>
        Claude continues with a copy of the conversation when you write the next message. The conversation in the
        terminal stays as it is.
        {isOpen && ' It is open there now: what is said there from here on is not in the stage.'}
      </p>
      {adopt.isError && <ErrorNote lead="The conversation was not continued." error={adopt.error} />}
      <FormEnd>
        <Button className={css.first ?? ''} variant="default" onClick={back}>
          Back
        </Button>
        <Button type="submit" disabled={!useCanCommand()} loading={adopt.isPending}>
          Continue as a stage
        </Button>
      </FormEnd>
    </form>
  );
}

function whereItBegins(folder: ConversationFolder | null): string {
  if (folder === null)
    return 'Its folder is gone, so the worktree of the stage begins like that of a new one. Claude may speak of files that are not there.';
  const at = folder.branch === null ? 'the commit' : `the newest commit of ${folder.branch}, the branch`;
  return `The worktree of the stage begins at ${at} that ${folder.folder} is on.`;
}
