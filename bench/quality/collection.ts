/** `dev` is for tuning, `test` for reporting. */
export type Half = 'dev' | 'test';

export interface Collection {
  readonly name: string;
  readonly documents: readonly { readonly id: string; readonly title: string; readonly body: string }[];
  /** Whether the ids are names of files, by which documents are found too. */
  readonly named: boolean;
  readonly queries: readonly { readonly id: string; readonly text: string; readonly half: Half }[];
  /** The relevance of documents to queries, by id. */
  readonly gains: ReadonlyMap<string, ReadonlyMap<string, number>>;
}
