CREATE STREAMING TABLE visits AS
SELECT user, count(*) AS pages FROM STREAM(pages_seen) GROUP BY user;

CREATE FLOW more_users AS INSERT INTO everything BY NAME
SELECT user FROM STREAM pages_seen WHERE user <> 'bot';

CREATE MATERIALIZED VIEW busiest AS
SELECT user, sum(pages) AS pages FROM visits GROUP BY user ORDER BY pages DESC LIMIT 1;
