-- Words are split and folded by search_words.c before they come here. Runs (kind 4) have an index of
-- their own: there are many of them, and a search for anything else need not look at their words.
CREATE VIRTUAL TABLE search_runs USING fts5(
    words, content = 'search_entry', content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE search_groups USING fts5(
    words, content = 'search_entry', content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 0');

CREATE TRIGGER search_run_added AFTER INSERT ON search_entry WHEN new.kind = 4 BEGIN
    INSERT INTO search_runs (rowid, words) VALUES (new.id, new.words);
END;
CREATE TRIGGER search_run_removed AFTER DELETE ON search_entry WHEN old.kind = 4 BEGIN
    INSERT INTO search_runs (search_runs, rowid, words) VALUES ('delete', old.id, old.words);
END;
CREATE TRIGGER search_group_added AFTER INSERT ON search_entry WHEN new.kind <> 4 BEGIN
    INSERT INTO search_groups (rowid, words) VALUES (new.id, new.words);
END;
CREATE TRIGGER search_group_removed AFTER DELETE ON search_entry WHEN old.kind <> 4 BEGIN
    INSERT INTO search_groups (search_groups, rowid, words) VALUES ('delete', old.id, old.words);
END;

INSERT INTO search_runs (rowid, words) SELECT id, words FROM search_entry WHERE kind = 4;
INSERT INTO search_groups (rowid, words) SELECT id, words FROM search_entry WHERE kind <> 4;
