import type { ComponentType } from 'preact';

/** The pages besides Talk, which is part of the first load. */
export const PAGES: Readonly<Record<string, ComponentType>> = {};
