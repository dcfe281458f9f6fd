-- The views of bench/tpch.yaml, for DuckDB and for Spark alike.
-- name: q1
select l_returnflag as flag, l_linestatus as status, cast(sum(l_quantity) as decimal(25,2)) as quantity,
  cast(sum(l_extendedprice) as decimal(25,2)) as base,
  cast(sum(cast(l_extendedprice * (1 - l_discount) as decimal(18,4))) as decimal(28,4)) as discounted,
  cast(sum(cast(l_extendedprice * (1 - l_discount) * (1 + l_tax) as decimal(20,6))) as decimal(30,6)) as charge,
  count(*) as n
from lineitem where l_shipdate <= date '1998-09-02' group by l_returnflag, l_linestatus;
-- name: q3
select o_orderkey as orderkey,
  cast(sum(cast(l_extendedprice * (1 - l_discount) as decimal(18,4))) as decimal(28,4)) as revenue,
  o_orderdate as orderdate, o_shippriority as shippriority
from customer join orders on o_custkey = c_custkey join lineitem on l_orderkey = o_orderkey
where c_mktsegment = 'BUILDING' and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
group by o_orderkey, o_orderdate, o_shippriority;
-- name: q4
select o_orderpriority as priority, count(*) as n from orders
where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01'
and exists (select 1 from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate)
group by o_orderpriority;
-- name: q5
select n_name as nation,
  cast(sum(cast(l_extendedprice * (1 - l_discount) as decimal(18,4))) as decimal(28,4)) as revenue
from customer join orders on o_custkey = c_custkey join lineitem on l_orderkey = o_orderkey
join supplier on s_suppkey = l_suppkey and s_nationkey = c_nationkey
join nation on n_nationkey = s_nationkey join region on r_regionkey = n_regionkey
where r_name = 'ASIA' and o_orderdate >= date '1994-01-01' and o_orderdate < date '1995-01-01' group by n_name;
-- name: q6
select cast(sum(cast(l_extendedprice * l_discount as decimal(18,4))) as decimal(28,4)) as revenue from lineitem
where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01' and l_discount >= 0.05 and l_discount <= 0.07
and l_quantity < 24 having count(*) > 0;
-- name: q10
select c_custkey as custkey, c_name as name, n_name as nation,
  cast(sum(cast(l_extendedprice * (1 - l_discount) as decimal(18,4))) as decimal(28,4)) as revenue
from customer join nation on n_nationkey = c_nationkey join orders on o_custkey = c_custkey
join lineitem on l_orderkey = o_orderkey
where o_orderdate >= date '1993-10-01' and o_orderdate < date '1994-01-01' and l_returnflag = 'R'
group by c_custkey, c_name, n_name;
-- name: q12
select l_shipmode as shipmode, o_orderpriority as priority, count(*) as n
from lineitem join orders on o_orderkey = l_orderkey
where l_commitdate < l_receiptdate and l_shipdate < l_commitdate
and l_receiptdate >= date '1994-01-01' and l_receiptdate < date '1995-01-01' group by l_shipmode, o_orderpriority;
-- name: q16
select p_brand as brand, p_type as type, p_size as size, count(distinct ps_suppkey) as suppliers
from part join partsupp on ps_partkey = p_partkey join supplier on s_suppkey = ps_suppkey
where p_brand <> 'Brand#45' and p_size <= 10 and s_comment not like '%Complaints%' group by p_brand, p_type, p_size;
-- name: q18
select o_orderkey as orderkey, c_name as name, o_orderdate as orderdate, o_totalprice as total,
  cast(sum(l_quantity) as decimal(25,2)) as quantity
from orders join customer on c_custkey = o_custkey join lineitem on l_orderkey = o_orderkey
group by o_orderkey, c_name, o_orderdate, o_totalprice having sum(l_quantity) > 250;
-- name: late
select l_orderkey as orderkey, l_linenumber as line, s_name as supplier, c_name as customer,
  o_orderpriority as priority
from lineitem join orders on o_orderkey = l_orderkey join supplier on s_suppkey = l_suppkey
join nation on n_nationkey = s_nationkey join customer on c_custkey = o_custkey
where l_receiptdate > l_commitdate and o_orderstatus = 'F' and n_name = 'SAUDI ARABIA';
