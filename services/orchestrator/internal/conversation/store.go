// Package conversation keeps conversations and their messages. Messages are a
// tree; the active branch ends in the conversation's active leaf.
package conversation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/idempotency"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// ErrNotFound says that there is no such conversation of this user.
var ErrNotFound = errors.New("conversation: not found")

// maxBranch bounds how many messages of a branch are read.
const maxBranch = 10_000

// Store keeps conversations.
type Store struct {
	DB  *store.DB
	Now func() time.Time
}

// Create stores a new conversation of the user.
func (s *Store) Create(ctx context.Context, userID, title, model, systemPrompt string) (schema.Conversation, error) {
	return s.CreateOnce(ctx, userID, title, model, systemPrompt, idempotency.Key{})
}

// CreateOnce is Create for a request that may come again with the same key: then
// it answers the conversation that was made first, as it is now, or ErrNotFound
// when that was deleted.
func (s *Store) CreateOnce(ctx context.Context, userID, title, model, systemPrompt string, key idempotency.Key) (schema.Conversation, error) {
	now := s.Now()
	made := schema.Conversation{
		ID: ident.New(schema.ConversationPrefix), UserID: userID, Title: title, Model: model,
		SystemPrompt: systemPrompt, CreatedAt: now.UnixMilli(), UpdatedAt: now.UnixMilli(),
	}
	var c schema.Conversation
	err := s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		earlier, err := idempotency.Take(ctx, tx, now, userID, key, made.ID)
		if err != nil {
			return err
		}
		if earlier != "" {
			c, err = get(ctx, tx, userID, earlier)
			return err
		}
		c = made
		_, err = tx.NewInsert().Model(&c).Exec(ctx)
		return err
	})
	if err != nil {
		return c, fmt.Errorf("store conversation: %w", err)
	}
	return c, nil
}

// Get reads a conversation of the user.
func (s *Store) Get(ctx context.Context, userID, id string) (schema.Conversation, error) {
	return get(ctx, s.DB.Read(), userID, id)
}

func get(ctx context.Context, db bun.IDB, userID, id string) (schema.Conversation, error) {
	var c schema.Conversation
	err := db.NewSelect().Model(&c).Where("id = ? AND user_id = ?", id, userID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return c, ErrNotFound
	}
	if err != nil {
		return c, fmt.Errorf("read conversation %s: %w", id, err)
	}
	return c, nil
}

// List reads at most limit conversations of the user, newest first, older than
// the one with the id before (all for the empty id).
func (s *Store) List(ctx context.Context, userID, before string, limit int) ([]schema.Conversation, error) {
	var list []schema.Conversation
	q := s.DB.Read().NewSelect().Model(&list).Where("user_id = ?", userID).Order("id DESC").Limit(int64(limit))
	if before != "" {
		q = q.Where("id < ?", before)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("list conversations: %w", err)
	}
	return list, nil
}

// Changes are the fields to change; nil leaves a field alone.
type Changes struct{ Title, Model, SystemPrompt *string }

// Update changes a conversation of the user.
func (s *Store) Update(ctx context.Context, userID, id string, ch Changes) (schema.Conversation, error) {
	var c schema.Conversation
	err := s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		c = schema.Conversation{}
		if err := store.ForUpdate(tx.NewSelect().Model(&c).Where("id = ? AND user_id = ?", id, userID)).Scan(ctx); err != nil {
			return err
		}
		for _, f := range []struct{ to, from *string }{{&c.Title, ch.Title}, {&c.Model, ch.Model}, {&c.SystemPrompt, ch.SystemPrompt}} {
			if f.from != nil {
				*f.to = *f.from
			}
		}
		c.UpdatedAt = s.Now().UnixMilli()
		_, err := tx.NewUpdate().Model(&c).WherePK().Column("title", "model", "system_prompt", "updated_at").Exec(ctx)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return c, ErrNotFound
	}
	if err != nil {
		return c, fmt.Errorf("update conversation %s: %w", id, err)
	}
	return c, nil
}

// Blobs are the blob keys of the results below a conversation. The conversation
// must be known to be the user's.
func (s *Store) Blobs(ctx context.Context, id string) (keys []string, err error) {
	err = s.DB.Read().NewSelect().Model((*schema.ToolCall)(nil)).Column("result_blob").
		Where("conversation_id = ? AND result_blob <> ''", id).Scan(ctx, &keys)
	if err != nil {
		return nil, fmt.Errorf("list results of conversation %s: %w", id, err)
	}
	return keys, nil
}

// Delete removes a conversation of the user and all that is below it in the
// database. What was used stays in the ledger.
func (s *Store) Delete(ctx context.Context, userID, id string) error {
	err := s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		res, err := tx.NewDelete().Model((*schema.Conversation)(nil)).Where("id = ? AND user_id = ?", id, userID).Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(ErrNotFound, err)
		}
		// Locked, so that no owner of a run adds to what is being removed.
		var runs []string
		err = store.ForUpdate(tx.NewSelect().Model((*schema.Run)(nil)).Column("id").Where("conversation_id = ?", id)).Scan(ctx, &runs)
		if err != nil {
			return err
		}
		for _, d := range []*bun.DeleteQuery{
			tx.NewDelete().Table("events").Where("run_id IN ?", bun.Tuple(runs)),
			tx.NewDelete().Table("approvals").Where("run_id IN ?", bun.Tuple(runs)),
			tx.NewDelete().Table("model_calls").Where("run_id IN ?", bun.Tuple(runs)),
			tx.NewDelete().Table("tool_calls").Where("conversation_id = ?", id),
			tx.NewDelete().Table("runs").Where("conversation_id = ?", id),
			tx.NewDelete().Table("messages").Where("conversation_id = ?", id),
		} {
			if _, err := d.Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("delete conversation %s: %w", id, err)
	}
	return err
}

// Branch reads the messages from the root to the leaf, oldest first. The
// conversation must be known to be the user's.
func (s *Store) Branch(ctx context.Context, conversationID, leaf string) ([]schema.Message, error) {
	if leaf == "" {
		return nil, nil
	}
	var branch []schema.Message
	err := s.DB.Read().NewRaw(`
		WITH RECURSIVE branch (id, parent_id, depth) AS (
			SELECT id, parent_id, 1 FROM messages WHERE id = ? AND conversation_id = ?
			UNION ALL
			SELECT m.id, m.parent_id, b.depth + 1 FROM messages AS m JOIN branch AS b ON m.id = b.parent_id WHERE b.depth < ?
		)
		SELECT m.* FROM messages AS m JOIN branch AS b ON m.id = b.id ORDER BY b.depth`,
		leaf, conversationID, maxBranch).Scan(ctx, &branch)
	if err != nil {
		return nil, fmt.Errorf("read messages of %s: %w", conversationID, err)
	}
	slices.Reverse(branch)
	return branch, nil
}

// Lengths reads how many messages the active branch of each conversation has,
// by the id of the leaf.
func (s *Store) Lengths(ctx context.Context, leaves []string) (map[string]int, error) {
	var rows []schema.Message
	err := s.DB.Read().NewSelect().Model(&rows).Column("id", "path_length").Where("id IN ?", bun.Tuple(leaves)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read branch lengths: %w", err)
	}
	out := make(map[string]int, len(rows))
	for _, r := range rows {
		out[r.ID] = r.PathLength
	}
	return out, nil
}

// Message reads a message of the user.
func (s *Store) Message(ctx context.Context, userID, id string) (schema.Message, error) {
	var m schema.Message
	err := s.DB.Read().NewSelect().Model(&m).Where("id = ? AND user_id = ?", id, userID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return m, ErrNotFound
	}
	if err != nil {
		return m, fmt.Errorf("read message %s: %w", id, err)
	}
	return m, nil
}
