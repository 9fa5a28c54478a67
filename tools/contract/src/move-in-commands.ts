import { z } from 'zod';
import { AdoptBody, AdoptReply, ConversationList } from './conversations.ts';
import { ProjectId } from './ids.ts';
import { ImportIssuesBody, ImportIssuesReply, IssueList, IssuesQuery } from './issues.ts';
import { ExportBody, ExportReply } from './stage-exports.ts';

const ofProject = { projectId: ProjectId };

/** Commands that bring work begun elsewhere to the board. */
export const moveInCommands = {
  /** Lists the conversations that were begun in a terminal in the project's folders. */
  get_conversations: { time: 'slow', input: z.object(ofProject), reply: ConversationList },
  /** Makes a stage that goes on from such a conversation. The original stays as it is. */
  adopt_conversation: { time: 'slow', input: AdoptBody.extend(ofProject), reply: AdoptReply },
  /** Lists open issues of the project's repository on its code host. */
  get_issues: { time: 'slow', input: IssuesQuery.extend(ofProject), reply: IssueList },
  /** Makes a stage of each of these issues, or brings the one that was made of it up to date. */
  import_issues: { time: 'slow', input: ImportIssuesBody.extend(ofProject), reply: ImportIssuesReply },
  /** Writes the project's stages as Markdown files, which an import reads. */
  export_stages: { time: 'slow', input: ExportBody.extend(ofProject), reply: ExportReply },
} as const;
