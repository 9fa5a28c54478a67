import { expect, it } from 'vitest';
import { parseStageFile } from './stage-file.ts';

const parse = (frontmatter: string) => parseStageFile('a.md', `---\n${frontmatter}\n---\nDo it.\n`);

it('accepts one id or a list of ids in depends_on, and keeps each once', () => {
  const stage = (depends: string) => parse(`id: A\ntitle: T\n${depends}`);
  expect(stage('depends_on: B')).toMatchObject({ stage: { dependsOn: ['B'] } });
  expect(stage('depends_on: [B, C, B]')).toMatchObject({ stage: { dependsOn: ['B', 'C'] } });
  expect(stage('depends_on:')).toMatchObject({ stage: { dependsOn: [] } });
  expect(stage('priority: 1')).toMatchObject({ stage: { dependsOn: [], priority: 1 } });
});

it.each([
  ['id: A\ntitle: 007', 'YAML does not read 7 as text; put the value in quotes', 'title'],
  ['id: 12\ntitle: T', 'YAML does not read 12 as text; put the value in quotes', 'id'],
  ['id: A\ntitle: yes\nmodel: true', 'YAML does not read true as text', 'model'],
  ['id: A\ntitle: T\nmachine: 12', 'YAML does not read 12 as text; put the value in quotes', 'machine'],
  ['id: A\ntitle: T\ndepends_on: B, C', '"B, C" is not a stage id; write several ids as a list', 'depends_on[0]'],
  ['id: A\ntitle: T\ndepends_on: [B, 12]', 'YAML does not read 12 as text', 'depends_on[1]'],
  ['id: A', 'title is missing', 'title'],
  ['title: T', 'id is missing', 'id'],
])('names the value and its position in %j', (frontmatter, text, place) => {
  const problem = JSON.stringify(parse(frontmatter));
  expect(problem).toContain(JSON.stringify(text).slice(1, -1));
  expect(problem).toContain(place);
});
