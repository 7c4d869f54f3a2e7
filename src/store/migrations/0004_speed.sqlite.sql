-- Words are searched by their beginnings. Without an index of beginnings FTS5 merges the lists of all
-- words that have one before it gives out the first run, which takes as long as there are runs.
-- Where in a text a word stands, nobody asks.
DROP TABLE search_runs;
CREATE VIRTUAL TABLE search_runs USING fts5(
    words, content = 'search_entry', content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 0',
    prefix = '1 2 3 4 5 6 7 8 9 10', detail = none, columnsize = 0);
INSERT INTO search_runs (rowid, words) SELECT id, words FROM search_entry WHERE kind = 4;
