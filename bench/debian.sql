-- The views of view_specs/supply_chain.yaml, each in the order in which one may read the other; a name heads each.
-- name: provider
select name, name as package from package
union select virtual, package from provides;
-- name: option
select d.package, d.clause, p.package as target from depends d join provider p on p.name = d.target where d.relation = ''
union select d.package, d.clause, p.name from depends d join package p on p.name = d.target and p.version = d.version
  where d.relation = '='
union select d.package, d.clause, p.package from depends d join provides p on p.virtual = d.target and p.version = d.version
  where d.relation = '='
union select d.package, d.clause, p.name from depends d join package p on p.name = d.target
  where d.relation <> '' and d.relation <> '='
union select d.package, d.clause, p.package from depends d join provides p on p.virtual = d.target
  where d.relation <> '' and d.relation <> '=' and p.version <> '';
-- name: choice
select package, clause from option group by package, clause having count(*) > 1;
-- name: unmet
select distinct package, clause from depends d
where not exists (select 1 from option o where o.package = d.package and o.clause = d.clause);
-- name: needs
select distinct package, target from option o where package <> target
and not exists (select 1 from choice c where c.package = o.package and c.clause = o.clause);
-- name: requires
with recursive reach as (
  select package, target from needs
  union select n.package, r.target from needs n join reach r on r.package = n.target
) select package, target from reach;
-- name: cycle
select r.package, r.target as other from requires r join requires b on b.package = r.target and b.target = r.package
where r.package < r.target;
-- name: leaf
select name as package from package where not exists (select 1 from needs where target = name);
-- name: stale_copy
select distinct b.package, b.source, b.source_version, v.fixed_version from built_using b
join affects a on a.source = b.source and a.source_version = b.source_version
join advisory v on v.id = a.advisory and v.source = b.source;
-- name: vulnerable
select p.name as package, v.id as advisory, v.published from package p
join affects a on a.source = p.source and a.source_version = p.source_version
join advisory v on v.id = a.advisory and v.source = p.source
union select c.package, v.id, v.published from stale_copy c
join affects a on a.source = c.source and a.source_version = c.source_version
join advisory v on v.id = a.advisory and v.source = c.source and v.fixed_version = c.fixed_version;
-- name: exposure
select package, advisory from vulnerable
union select r.package, v.advisory from requires r join vulnerable v on v.package = r.target;
-- name: affected
select distinct package from exposure;
-- name: unaffected
select name as package from package where not exists (select 1 from affected where affected.package = name);
-- name: maintainer_at_risk
select distinct m.name as maintainer, m.kind, p.name as package from vulnerable v
join package p on p.name = v.package join maintainer m on m.name = p.maintainer;
-- name: rests_on_orphan
select distinct r.package, r.target as orphan from requires r join package p on p.name = r.target
join maintainer m on m.name = p.maintainer where m.kind = 'orphaned';
-- name: clash
with one as (
  select c.package, p.package as other from conflicts c join provider p on p.name = c.target where c.relation = ''
  union select c.package, p.name from conflicts c join package p on p.name = c.target and p.version = c.version
    where c.relation = '='
  union select c.package, p.package from conflicts c join provides p on p.virtual = c.target and p.version = c.version
    where c.relation = '='
) select package, other from one where package <> other union select other, package from one where package <> other;
-- name: brings
select package, package as target from clash
union select r.package, r.target from requires r where exists (select 1 from clash c where c.package = r.target);
-- name: rivals
select distinct a.package, b.package as other from brings a join clash c on c.package = a.target
join brings b on b.target = c.other where a.package < b.package;
-- name: uninstallable
select package from unmet
union select r.package from requires r where exists (select 1 from unmet u where u.package = r.target)
union select a.package from brings a join clash c on c.package = a.target
join brings b on b.target = c.other and b.package = a.package;
-- name: fit_to_ship
select distinct l.package, p.installed_kib from leaf l join unaffected u on u.package = l.package
join package p on p.name = l.package where p.installed_kib > 0
and not exists (select 1 from uninstallable x where x.package = l.package);
