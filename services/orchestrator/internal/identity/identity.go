// Package identity keeps users and their API tokens. A token is 256 random bits
// behind the prefix nc_; only its SHA-256 is stored.
package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

const (
	tokenPrefix = "nc_"
	tokenBytes  = 32
	shownChars  = 9 // of a token, to tell it from others
	// usedEvery is how exactly last use is kept.
	usedEvery = time.Minute
	// ownerName is the user of a deployment that has one.
	ownerName = "owner"
	// maxTokens bounds the tokens of one user.
	maxTokens = 200
)

// The scopes of tokens.
const (
	ScopeChat   = "chat"
	ScopeTools  = "tools"
	ScopeSearch = "search"
	ScopeFetch  = "fetch"
	ScopeCrawl  = "crawl"
	ScopeCode   = "code"
	ScopeFiles  = "files"
	ScopeUsage  = "usage"
	ScopeTokens = "tokens"
)

// usualScopes are what a token gets when nobody says what it is for.
var usualScopes = []string{ScopeChat, ScopeTools, ScopeSearch, ScopeFetch, ScopeCrawl, ScopeFiles, ScopeUsage}

var (
	// ErrBadToken says that the token is unknown, revoked or expired.
	ErrBadToken = errors.New("identity: the token is not valid")
	// ErrNotFound says that there is no such token of this user.
	ErrNotFound = errors.New("identity: no such token")
	// ErrNoScopes says that nobody said what the token is for, and the caller has
	// none of the usual scopes to give.
	ErrNoScopes = errors.New("identity: the caller has none of the usual scopes")
	// ErrTooMany says that the user has too many tokens.
	ErrTooMany = fmt.Errorf("identity: a user can have %d tokens", maxTokens)
)

// EndError says that somebody wanted a token to outlive their own.
type EndError struct{ At time.Time }

func (e *EndError) Error() string {
	return "identity: the caller's token ends at " + e.At.UTC().Format(time.RFC3339)
}

// ScopeError says that somebody wanted to give what they do not have.
type ScopeError struct{ Scope string }

func (e *ScopeError) Error() string { return "identity: the caller's token lacks the scope " + e.Scope }

// Store keeps users and tokens.
type Store struct {
	DB  *store.DB
	Now func() time.Time
}

// Owner is the id of the deployment's own user, who is made at the first start.
func (s *Store) Owner(ctx context.Context) (string, error) {
	var u schema.User
	err := s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		u = schema.User{}
		err := tx.NewSelect().Model(&u).Where("name = ?", ownerName).Scan(ctx)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		made := schema.User{ID: ident.New(schema.UserPrefix), Name: ownerName, CreatedAt: s.Now().UnixMilli()}
		if _, err = tx.NewInsert().Model(&made).Ignore().Exec(ctx); err != nil {
			return err
		}
		// Another replica may have been faster.
		return tx.NewSelect().Model(&u).Where("name = ?", ownerName).Scan(ctx)
	})
	if err != nil {
		return "", fmt.Errorf("read owner: %w", err)
	}
	return u.ID, nil
}

// Exchange turns a token into its principal.
func (s *Store) Exchange(ctx context.Context, token string) (auth.Principal, error) {
	if !strings.HasPrefix(token, tokenPrefix) {
		return auth.Principal{}, ErrBadToken
	}
	var t schema.Token
	err := s.DB.Read().NewSelect().Model(&t).Where("hash = ?", hash(token)).Scan(ctx)
	now := s.Now()
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return auth.Principal{}, ErrBadToken
	case err != nil:
		return auth.Principal{}, fmt.Errorf("read token: %w", err)
	case t.ExpiresAt != 0 && t.ExpiresAt <= now.UnixMilli():
		return auth.Principal{}, ErrBadToken
	}
	if now.Sub(schema.Time(t.LastUsedAt)) > usedEvery {
		// A note for people. A disk that is full locks nobody out.
		_ = s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
			_, err := tx.NewUpdate().Model((*schema.Token)(nil)).Set("last_used_at = ?", now.UnixMilli()).Where("id = ?", t.ID).Exec(ctx)
			return err
		})
	}
	p := auth.UserPrincipal(t.UserID, strings.Fields(t.Scopes)...)
	p.TokenID = t.ID
	if t.ExpiresAt != 0 {
		p.ExpiresAt = schema.Time(t.ExpiresAt)
	}
	return p, nil
}

// Create makes a token of the principal's user with the scopes, or the usual
// ones as far as the principal has them. Nobody can give what they lack, or make
// what outlives the token that they show: with a life of 0 the new one ends with
// that. Their token is looked at again here, since what is remembered of it may
// be a minute old, and what it makes would not end with it.
func (s *Store) Create(ctx context.Context, p auth.Principal, name string, scopes []string, life time.Duration) (token string, t schema.Token, err error) {
	if len(scopes) == 0 {
		for _, sc := range usualScopes {
			if p.Has(sc) {
				scopes = append(scopes, sc)
			}
		}
	}
	if len(scopes) == 0 {
		return "", t, ErrNoScopes
	}
	for _, sc := range scopes {
		if !p.Has(sc) {
			return "", t, &ScopeError{Scope: sc}
		}
	}
	token, t = s.make(p.UserID, name, scopes)
	err = s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		// Those who make tokens of a user go one after another, so that the count
		// holds.
		var user string
		err := store.ForUpdate(tx.NewSelect().Model((*schema.User)(nil)).Column("id").Where("id = ?", p.UserID)).Scan(ctx, &user)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		n, err := tx.NewSelect().Model((*schema.Token)(nil)).Where("user_id = ?", p.UserID).Count(ctx)
		if err != nil {
			return err
		}
		if n >= maxTokens {
			return ErrTooMany
		}
		if t.ExpiresAt, err = s.end(ctx, tx, p, life); err != nil {
			return err
		}
		_, err = tx.NewInsert().Model(&t).Exec(ctx)
		return err
	})
	if err != nil {
		return "", t, fmt.Errorf("store token: %w", err)
	}
	return token, t, nil
}

// end is when a token of this life ends that p makes; 0: never. The row of p's
// own token stays locked, so that it cannot be revoked meanwhile.
func (s *Store) end(ctx context.Context, tx bun.IDB, p auth.Principal, life time.Duration) (int64, error) {
	now := s.Now()
	var end int64
	if life > 0 {
		end = now.Add(life).UnixMilli()
	}
	if p.TokenID == "" {
		return end, nil
	}
	var own schema.Token
	err := store.ForUpdate(tx.NewSelect().Model(&own).Where("id = ? AND user_id = ?", p.TokenID, p.UserID)).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, ErrBadToken
	case err != nil:
		return 0, fmt.Errorf("read the caller's token: %w", err)
	case own.ExpiresAt == 0:
		return end, nil
	case own.ExpiresAt <= now.UnixMilli():
		return 0, ErrBadToken
	case end > own.ExpiresAt:
		return 0, &EndError{At: schema.Time(own.ExpiresAt)}
	case end == 0:
		return own.ExpiresAt, nil
	}
	return end, nil
}

// make makes a token and its row.
func (s *Store) make(userID, name string, scopes []string) (token string, t schema.Token) {
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // never fails: crypto/rand ends the process instead
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(random)
	return token, schema.Token{
		ID: ident.New(schema.TokenPrefix), UserID: userID, Name: name, Hash: hash(token), Prefix: token[:shownChars],
		Scopes: strings.Join(slices.Compact(slices.Sorted(slices.Values(scopes))), " "), CreatedAt: s.Now().UnixMilli(),
	}
}

// List reads at most limit tokens of the user, newest first, older than the one
// with the id before.
func (s *Store) List(ctx context.Context, userID, before string, limit int) ([]schema.Token, error) {
	var list []schema.Token
	q := s.DB.Read().NewSelect().Model(&list).Where("user_id = ?", userID).Order("id DESC").Limit(int64(limit))
	if before != "" {
		q = q.Where("id < ?", before)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return list, nil
}

// Get reads a token of the user.
func (s *Store) Get(ctx context.Context, userID, id string) (schema.Token, error) {
	return token(ctx, s.DB.Read(), userID, id)
}

func token(ctx context.Context, db bun.IDB, userID, id string) (schema.Token, error) {
	var t schema.Token
	err := db.NewSelect().Model(&t).Where("id = ? AND user_id = ?", id, userID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return t, ErrNotFound
	}
	if err != nil {
		return t, fmt.Errorf("read token %s: %w", id, err)
	}
	return t, nil
}

// Rename changes the name of a token of the user.
func (s *Store) Rename(ctx context.Context, userID, id, name string) (schema.Token, error) {
	var t schema.Token
	err := s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		var err error
		if t, err = token(ctx, tx, userID, id); err != nil {
			return err
		}
		t.Name = name
		_, err = tx.NewUpdate().Model(&t).WherePK().Column("name").Exec(ctx)
		return err
	})
	return t, err
}

// Delete revokes a token of the user.
func (s *Store) Delete(ctx context.Context, userID, id string) error {
	return s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		res, err := tx.NewDelete().Model((*schema.Token)(nil)).Where("id = ? AND user_id = ?", id, userID).Exec(ctx)
		if err != nil {
			return fmt.Errorf("delete token %s: %w", id, err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(ErrNotFound, err)
		}
		return nil
	})
}

func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
