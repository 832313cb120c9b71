import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { agentsIn, projectOf } from './project-agents.ts';

test('a project is the repository around the directory; its agents work in it or are below one that does', () => {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'project-')));
  onTestFinished(() => rmSync(place, { recursive: true }));
  for (const path of ['site/.git', 'site/docs', 'site-two']) mkdirSync(join(place, path), { recursive: true });
  symlinkSync(join(place, 'site'), join(place, 'link'));
  expect(projectOf(join(place, 'site/docs'))).toBe(join(place, 'site'));
  expect(projectOf(join(place, 'site-two'))).toBe(join(place, 'site-two'));
  const agent = (id: string, workspace: string, parentId: string | null = null) => ({ id, workspace, parentId });
  const agents = [
    agent('lead', join(place, 'site')),
    agent('by-link', join(place, 'link/docs')),
    agent('other', join(place, 'site-two')),
    agent('above', place),
    agent('nowhere', '/nowhere'),
    agent('worker', '/elsewhere', 'lead'),
    agent('helper', '/elsewhere', 'worker'),
    agent('others-worker', '/elsewhere', 'other'),
  ];
  expect(agentsIn(agents, join(place, 'site')).map(({ id }) => id)).toEqual(['lead', 'by-link', 'worker', 'helper']);
});
