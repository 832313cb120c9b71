import { expect, test } from 'vitest';
import { agentsOf, projectsOf } from './projects.ts';

const agent = (id: string, workspace: string, parentId: string | null = null) => ({ id, workspace, parentId });
const OWN = '/home/me/.substrat/workspaces/01a1ec44-9aa6-79c8-a96d-92ae90e5a6cd';
const agents = [
  agent('lead', '/home/me/site'),
  agent('reviewer', '/home/me/site/src', 'lead'),
  agent('helper', OWN, 'reviewer'),
  agent('other', '/home/me/site-2'),
  agent('loner', OWN),
];

test('projects are the directories that agents work in, without those inside of others and private ones', () => {
  expect(projectsOf(agents)).toEqual([
    { directory: '/home/me/site', name: 'site' },
    { directory: '/home/me/site-2', name: 'site-2' },
  ]);
});

test('a project has the agents that work in it, and all below them', () => {
  expect([...agentsOf(agents, '/home/me/site')]).toEqual(['lead', 'reviewer', 'helper']);
  expect([...agentsOf(agents, '/home/me/site-2')]).toEqual(['other']);
  expect([...agentsOf(agents, '/')]).toHaveLength(5);
});
