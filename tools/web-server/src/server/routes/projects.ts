import { NewProject, Project, ProjectId, ProjectPatch } from '@callboard/contract';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Rejection } from '../errors.ts';
import { problemResponses } from '../http-error.ts';
import type { RelayOptions } from './ask.ts';

const params = z.object({ projectId: ProjectId });
const OneProject = z.object({ project: Project });
const AllProjects = z.object({ projects: z.array(Project) });
const one = { response: { 200: OneProject, ...problemResponses } };

/** The repositories that the board knows. */
export const projectRoutes: FastifyPluginAsyncZod<RelayOptions> = async (app, { ask }) => {
  app.get('/', { schema: { response: { 200: AllProjects, ...problemResponses } } }, async (request) => {
    const { projects } = await ask(request, 'get_board', {});
    return { projects };
  });

  app.post(
    '/',
    {
      schema: {
        summary: 'Registers a repository; 200 when it was registered already',
        body: NewProject,
        response: { 200: OneProject, 201: OneProject, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { project, created } = await ask(request, 'create_project', request.body);
      return reply.code(created ? 201 : 200).send({ project });
    },
  );

  app.patch('/:projectId', { schema: { params, body: ProjectPatch, ...one } }, (request) =>
    ask(request, 'update_project', { ...request.body, ...request.params }),
  );

  app.delete(
    '/:projectId',
    { schema: { summary: 'Answers with what was removed', params, ...one } },
    async (request) => {
      const { projectId } = request.params;
      const { projects } = await ask(request, 'get_board', {});
      const project = projects.find(({ id }) => id === projectId);
      if (project === undefined) throw new Rejection('unknown_project', `There is no project ${projectId}.`);
      await ask(request, 'remove_project', { projectId });
      return { project };
    },
  );
};
