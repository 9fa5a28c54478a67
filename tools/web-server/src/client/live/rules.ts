import { commands, type ProjectId } from '@callboard/contract';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../lib/api.ts';

/** What was allowed for good in a project, and the allow rules that its repository has of its own. */
export const rulesQuery = (projectId: ProjectId) =>
  queryOptions({
    queryKey: ['rules', projectId],
    queryFn: ({ signal }) => call(`/api/projects/${projectId}/rules`, { reply: commands.get_rules.reply, signal }),
  });
