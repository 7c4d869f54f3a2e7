-- Words are split and folded by search_words.c before they come here.
CREATE VIRTUAL TABLE search_index USING fts5(
    words, content = 'search_entry', content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 0');
CREATE TRIGGER search_entry_added AFTER INSERT ON search_entry BEGIN
    INSERT INTO search_index (rowid, words) VALUES (new.id, new.words);
END;
CREATE TRIGGER search_entry_removed AFTER DELETE ON search_entry BEGIN
    INSERT INTO search_index (search_index, rowid, words) VALUES ('delete', old.id, old.words);
END;
CREATE TRIGGER search_entry_changed AFTER UPDATE OF words ON search_entry BEGIN
    INSERT INTO search_index (search_index, rowid, words) VALUES ('delete', old.id, old.words);
    INSERT INTO search_index (rowid, words) VALUES (new.id, new.words);
END;
INSERT INTO search_index (search_index) VALUES ('rebuild');
